/** Which text of an email is read. */
import { expect, test } from 'vitest'
import { textOf } from '../../src/email/text.ts'

const said = (text: string, isReply = true): string =>
  textOf({ headers: [], headerLines: [], attachments: [], text }, isReply)
const LONG = 'A sentence that somebody wrote. '.repeat(100).trim()
const HEAD = 'On Mon, Nov 23, 2026 at 12:00 PM assistant <a@example.org> wrote:'

test.each([
  ['marked', `yes\n\n${HEAD}\n> before\n>\n> more`, 'yes'],
  ['marked and long', `yes\n\n${HEAD}\n${'> before\n'.repeat(3000)}`, 'yes'],
  ['without marks', 'ja\n\n-----Original Message-----\nFrom: assistant <a@example.org>\nbefore', 'ja'],
  ['without marks and long', `ja\n\n-----Original Message-----\nFrom: a <a@example.org>\n${LONG}`, 'ja'],
  [
    'in German',
    'ja\n\nAm Mo., 23. Nov. 2026 um 12:00 Uhr schrieb assistant <a@example.org>:\n> vorher',
    'ja',
  ],
  ['below a long answer', `${LONG}\n\n> before`, LONG],
])('a quote is left out: %s', (_which, text, expected) => {
  expect(said(text).replace(/\s*>.*$/s, '')).toBe(expected)
})

test('text between quotes and a pure quote are kept', () => {
  const between = `> first?\nyes\n> second?\nno`
  expect(said(between)).toContain('yes')
  expect(said(between)).toContain('no')
  const long = `${'> before\n'.repeat(500)}my answer at the very end`
  expect(said(long)).toContain('my answer at the very end')
  expect(said('> only this')).toBe('> only this')
})

test('a text built to slow down parsing is scanned in part and kept as a whole', () => {
  const text = 'Op schreef\n'.repeat(5000)
  expect(said(text)).toContain('Op schreef')
})
