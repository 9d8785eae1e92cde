import { expect, test } from 'vitest'
import { fillUndoArguments } from './undo-arguments.ts'

const sources = { arguments: { name: 'a', tags: ['x', 'y'] }, result: { id: 7, of: { deep: true } } }

test('a template alone keeps the type of its value, and one within a text becomes text', () => {
  expect(
    fillUndoArguments(
      {
        id: '{{result.id}}',
        flag: ['{{ result.of.deep }}'],
        text: 'no {{result.id}} of {{arguments.name}}',
        tag: '{{arguments.tags.1}}',
        n: 3,
      },
      sources,
    ),
  ).toEqual({ id: 7, flag: [true], text: 'no 7 of a', tag: 'y', n: 3 })
})

test('names a missing value and reads no inherited property', () => {
  expect(() => fillUndoArguments({ id: '{{result.missing}}' }, sources)).toThrow('result.missing does')
  expect(() => fillUndoArguments({ id: '{{result.toString}}' }, sources)).toThrow(
    'result.toString does not exist',
  )
})
