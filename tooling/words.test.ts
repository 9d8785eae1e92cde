/**
 * The field's terms. docs/glossary.md lists the words to avoid. This gate counts them, and phrases that read
 * like a translation, in all text for readers. A count may only fall: lower the limit when you remove some.
 */
import { expect, test } from 'vitest'
import { AREAS, type Area, OPENING, findWords, oldWords } from './words.ts'

/** Highest count of each area. */
const MAX: Record<Area, number> = {
  documents: 38,
  messages: 12,
  names: 13,
  files: 0,
  comments: 41,
  'comment openings': 0,
}

const found = findWords()

test.each(AREAS)('%s use the terms of the glossary', area => {
  const here = found.filter(hit => hit.area === area)
  const shown = here.slice(0, 40).map(({ path, line, word }) => `${path}:${line}: ${word}`)
  expect(here.length, `${shown.join('\n')}\n`).toBeLessThanOrEqual(MAX[area])
})

test('a limit is not higher than the count it allows', () => {
  const counts = Object.fromEntries(AREAS.map(area => [area, found.filter(hit => hit.area === area).length]))
  expect(MAX).toEqual(counts)
})

test.each([
  ['The box is closed.', ['box']],
  ['A text box and a checkbox', []],
  ['Nobody was told, so it goes on.', ['Nobody', 'told', 'goes on']],
  ['A dead letter of `box`', ['dead letter']],
])('finds the terms of %s', (text, words) => {
  expect([...text.replaceAll(/`[^`]*`/g, '').matchAll(oldWords())].map(([word]) => word)).toEqual(words)
})

test('rejects a comment that starts with a bare pronoun or preposition', () => {
  expect(
    ['Of a whole stream: what is queued.', 'Those, and the rest.', 'Nobody waits.'].every(text =>
      OPENING.test(text),
    ),
  ).toBe(true)
  expect(['Office hours.', 'Soon after', 'The rest of those.'].some(text => OPENING.test(text))).toBe(false)
})
