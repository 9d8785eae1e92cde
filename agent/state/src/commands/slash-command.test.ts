import { expect, test } from 'vitest'
import fc from 'fast-check'
import { parseSlashCommand } from './slash-command.ts'

const parse = (text: string) => parseSlashCommand(text, name => name === 'review')

test('a goal is the text, and a separate rubric block defines its grading', () => {
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

test('the control words of a goal are commands only without further text', () => {
  expect(parse('/goal')).toEqual({ command: 'goal', action: 'status' })
  expect(parse('/goal pause')).toEqual({ command: 'goal', action: 'pause' })
  expect(parse('/GOAL Clear')).toEqual({ command: 'goal', action: 'clear' })
  expect(parse('/goal pause the music')).toMatchObject({ action: 'define', description: 'pause the music' })
})

test('a skill takes the rest as arguments; unknown words, paths and words within a text are plain text', () => {
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

test('the text of a goal is kept, whatever it contains', () => {
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
