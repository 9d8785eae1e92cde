import { expect, test } from 'vitest'
import fc from 'fast-check'
import { parseSlashCommand } from './slash-command.ts'

const parse = (text: string) => parseSlashCommand(text, name => name === 'review')

test('a goal is its text, and a rubric block of its own says how it is graded', () => {
  expect(parse('/goal ship the parser')).toEqual({
    command: 'goal',
    action: 'define',
    description: 'ship the parser',
    rubric: null,
  })
  expect(parse('/goal ship it\nRubric:\n- tests pass\n- docs exist\n')).toEqual({
    command: 'goal',
    action: 'define',
    description: 'ship it',
    rubric: '- tests pass\n- docs exist',
  })
  expect(parse('/goal ship it\ncriteria: tests pass')).toMatchObject({
    description: 'ship it',
    rubric: 'tests pass',
  })
  expect(parse('/goal mention the rubric: somewhere')).toMatchObject({
    description: 'mention the rubric: somewhere',
    rubric: null,
  })
})

test("the words of a goal's control are commands only when they stand alone", () => {
  expect(parse('/goal')).toEqual({ command: 'goal', action: 'status' })
  expect(parse('/goal pause')).toEqual({ command: 'goal', action: 'pause' })
  expect(parse('/GOAL Clear')).toEqual({ command: 'goal', action: 'clear' })
  expect(parse('/goal pause the music')).toMatchObject({ action: 'define', description: 'pause the music' })
})

test('a skill takes the rest as its arguments; an unknown word, a path and a word in the middle are plain text', () => {
  expect(parse('/review src/a.ts\nand b')).toEqual({
    command: 'skill',
    skill: 'review',
    arguments: 'src/a.ts\nand b',
  })
  expect([
    parse('/unknown thing'),
    parse('/etc/hosts'),
    parse('see /help'),
    parse(' /help'),
    parse('/help me please'),
  ]).toEqual([null, null, null, null, null])
  expect(parse('/help')).toEqual({ command: 'help' })
})

test('whatever text a goal has, it is kept whole', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1 }).filter(text => text.trim() !== ''),
      fc.string().filter(text => text.trim() !== ''),
      (description, rubric) => {
        const parsed = parse(`/goal begin ${description.trim()}\nRubric:\n${rubric}`)
        if (parsed?.command !== 'goal' || parsed.action !== 'define') throw new Error('not a goal')
        expect(`${parsed.description}${parsed.rubric ?? ''}`.replace(/\s/g, '')).toContain(
          rubric.replace(/\s/g, '').slice(-1),
        )
        expect(parsed.description.startsWith('begin')).toBe(true)
      },
    ),
  )
})
