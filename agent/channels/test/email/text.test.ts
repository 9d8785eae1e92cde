/** Which text of an email is read. */
import { expect, test } from 'vitest'
import { inboundOf } from '../../src/email/parse.ts'
import { textOf } from '../../src/email/text.ts'
import { ADDRESS, SERVER, writeMail } from './person.ts'

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

const FORWARDED =
  '---------- Forwarded message ---------\nFrom: Bo <bo@example.net>\n> please check\nthe roof'
test.each([
  ['Fwd: The roof', FORWARDED],
  ['WG: Das Dach', `bitte ansehen\n\n${FORWARDED}`],
  ['FW: The roof', `see below\n\n-----Original Message-----\nFrom: Bo <bo@example.net>\nthe roof`],
])('a reply that forwards something keeps it: %s', (subject, text) => {
  expect(textOf({ headers: [], headerLines: [], attachments: [], subject, text }, true)).toBe(
    `Subject: ${subject}\n\n${text}`,
  )
})

test('an email of Gmail that has only HTML keeps what it forwards, and drops what it quotes', () => {
  const html = 'look<div class="gmail_quote gmail_quote_container">the roof</div>'
  const read = (subject: string, isReply: boolean): string =>
    textOf({ headers: [], headerLines: [], attachments: [], subject, html }, isReply)
  expect(read('Fwd: The roof', false)).toContain('the roof')
  expect(read('Fwd: The roof', true)).toContain('the roof')
  expect(read('Re: The roof', true)).toBe('look')
})

test.each([
  ['with a name', 'Bo <bo@example.net>', 'Bo'],
  ['without a name', 'bo@example.net', 'bo@example.net'],
])('an email that is forwarded as an attachment is read, of a sender %s', async (_how, from, author) => {
  const inner = writeMail({ from, subject: 'The roof', text: 'please check the roof\n/stop', verdict: null })
  const body =
    'Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nwhat now?\n--b\n' +
    `Content-Type: message/rfc822\n\n${inner}\n--b--\n`
  const raw = Buffer.from(writeMail({ subject: 'A question', body }))
  const self = { address: ADDRESS, authservId: SERVER, tokens: null }
  expect(await inboundOf({ raw, at: 0, place: null }, self)).toMatchObject({
    text: 'Subject: A question\n\nwhat now?',
    forwards: [{ author, text: 'Subject: The roof\n\nplease check the roof\n/stop' }],
    files: [{ name: 'email-1.eml', mime_type: 'message/rfc822' }],
  })
})
