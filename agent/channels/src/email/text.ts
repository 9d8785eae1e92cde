/** What a person wrote, of all that stands in a mail. */
import EmailReplyParser from 'email-reply-parser'
import { convert } from 'html-to-text'
import type { Email } from 'postal-mime'

/**
 * Quotes are looked for in so many characters: some patterns of the library take time with the third power of
 * the length, and whoever writes a mail may choose a text for it.
 */
const QUOTES_IN = 2_000
/** The parser takes time with the square of the depth: what has no text beside it is read so far. */
const HTML = 100_000
/** Beyond this it is no message but a file that should have been attached. */
const MOST = 100_000

/** `isReply`: to a mail of ours, so what it quotes is in the log, and its subject is ours. */
export function textOf(email: Email, isReply: boolean): string {
  const body = bodyOf(email).trim()
  const whole = isReply ? withoutQuotes(body) : withSubject(body, email.subject?.trim() ?? '')
  return whole.length <= MOST ? whole : `${whole.slice(0, MOST).toWellFormed()}\n[the rest was left out]`
}

const bodyOf = ({ text, html }: Email): string =>
  (text?.trim() ?? '') !== '' || html === undefined
    ? (text ?? '').replaceAll('\r\n', '\n')
    : convert(html.slice(0, HTML), {
        wordwrap: false,
        limits: { maxDepth: 100, maxChildNodes: 10_000 },
        selectors: [
          { selector: 'img', format: 'skip' },
          // How the programs of many people mark what they quote.
          { selector: '.gmail_quote_container', format: 'skip' },
          { selector: 'a', options: { ignoreHref: false, hideLinkHrefIfSameAsText: true } },
        ],
      })

/** Someone who wrote between the lines alone, or nothing, is taken whole. */
function withoutQuotes(body: string): string {
  const text = withoutMarked(body)
  const head = text.slice(0, QUOTES_IN)
  const read = new EmailReplyParser().read(head)
  const visible = read.getVisibleText().trim()
  if (visible === '') return body
  if (head.length === text.length) return visible
  // What is hidden goes on behind it, unless the quote has marks: then more was written below.
  const hidden = read.getFragments().at(-1)
  return hidden?.isHidden() === true && !isMarked(head.slice(head.trimEnd().lastIndexOf('\n') + 1))
    ? visible
    : text
}

const isMarked = (line: string): boolean => line.startsWith('>')

/** Of marked lines at the end one is enough to know them by. */
function withoutMarked(body: string): string {
  const lines = body.split('\n')
  let end = lines.length
  while (end > 0 && (isMarked(lines[end - 1] ?? '') || lines[end - 1]?.trim() === '')) end--
  const first = lines.findIndex((line, at) => at >= end && isMarked(line))
  return first < 0 ? body : lines.slice(0, first + 1).join('\n')
}

/** A command stands alone, in the body or as the subject of a mail without one. */
const withSubject = (body: string, subject: string): string =>
  body === '' ? subject : subject === '' || body.startsWith('/') ? body : `Subject: ${subject}\n\n${body}`
