/** Extracts what a person wrote from an email. */
import EmailReplyParser from 'email-reply-parser'
import { convert } from 'html-to-text'
import type { Email } from 'postal-mime'

/**
 * Characters that are searched for quotes: some patterns of the library take cubic time, and a sender may
 * exploit that.
 */
const QUOTES_IN = 2_000
/**
 * Characters of HTML that are read if the email has no plain text: parsing takes time quadratic in the
 * nesting depth.
 */
const HTML = 100_000
/** Longer text should have been an attachment. */
const MAX_CHARS = 100_000

/** The prefix that email programs put before the subject of a forwarded email, in several languages. */
const FORWARD = /^\s*(?:fwd?|wg|tr|rv|enc|doorst|vb|vl|pd|转发|轉寄|転送)\s*[:：]/i

/**
 * `isReply`: a reply to our email, so its quote is in the log already and its subject is ours. Not so if the
 * person forwards something within the thread: then the quote is what they send.
 */
export function textOf(email: Email, isReply: boolean): string {
  const subject = email.subject?.trim() ?? ''
  const dropsQuotes = isReply && !FORWARD.test(subject)
  const body = bodyOf(email, dropsQuotes).trim()
  return limited(dropsQuotes ? withoutQuotes(body) : withSubject(body, subject))
}

/** The subject and the whole body of an email that is attached to another one. */
export const attachedText = (email: Email): string =>
  limited(withSubject(bodyOf(email, false).trim(), email.subject?.trim() ?? ''))

function limited(whole: string): string {
  return whole.length <= MAX_CHARS
    ? whole
    : `${whole.slice(0, MAX_CHARS).toWellFormed()}\n[the rest was omitted]`
}

const bodyOf = ({ text, html }: Email, dropsQuotes: boolean): string =>
  (text?.trim() ?? '') !== '' || html === undefined
    ? (text ?? '').replaceAll('\r\n', '\n')
    : convert(html.slice(0, HTML), {
        wordwrap: false,
        limits: { maxDepth: 100, maxChildNodes: 10_000 },
        selectors: [
          { selector: 'img', format: 'skip' },
          // The quote container of Gmail.
          ...(dropsQuotes ? [{ selector: '.gmail_quote_container', format: 'skip' }] : []),
          { selector: 'a', options: { ignoreHref: false, hideLinkHrefIfSameAsText: true } },
        ],
      })

/** The whole body if nothing remains, for example if the sender wrote only between the quoted lines. */
function withoutQuotes(body: string): string {
  const text = withoutMarked(body)
  const head = text.slice(0, QUOTES_IN)
  const read = new EmailReplyParser().read(head)
  const visible = read.getVisibleText().trim()
  if (visible === '') return body
  if (head.length === text.length) return visible
  // The hidden fragment extends beyond the part that was read, unless its last line is marked as a quote:
  // then more text may follow.
  const hidden = read.getFragments().at(-1)
  return hidden?.isHidden() === true && !isMarked(head.slice(head.trimEnd().lastIndexOf('\n') + 1))
    ? visible
    : text
}

const isMarked = (line: string): boolean => line.startsWith('>')

/** Keeps one of the marked lines at the end, which suffices to recognise the quote. */
function withoutMarked(body: string): string {
  const lines = body.split('\n')
  let end = lines.length
  while (end > 0 && (isMarked(lines[end - 1] ?? '') || lines[end - 1]?.trim() === '')) end--
  const first = lines.findIndex((line, at) => at >= end && isMarked(line))
  return first < 0 ? body : lines.slice(0, first + 1).join('\n')
}

/** A command stands alone: as the body, or as the subject of an email without a body. */
const withSubject = (body: string, subject: string): string =>
  body === '' ? subject : subject === '' || body.startsWith('/') ? body : `Subject: ${subject}\n\n${body}`
