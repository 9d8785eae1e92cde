/**
 * Text that the sender of a message did not write: what they forward, and what they answer. It never counts
 * as a command or as the answer to a question.
 */
import { cutAt, isBlank } from '@cairn/protocol'

export type Quotation = {
  /** Null if the platform does not name the author. */
  author: string | null
  text: string
}
/** The message that another one answers. */
export type AnsweredMessage = Quotation & {
  /** The bot wrote it. */
  own?: true
  /** The part that the sender selected. */
  selected?: string
}

const FORWARD_MAX = 40_000
const ANSWERED_MAX = 4_000
const NAME_MAX = 80

/** The author in one line without brackets, and the text line by line, so that neither can imitate the other. */
export function forwardedText({ author, text }: Quotation): string {
  const name = author === null ? '' : nameOf(author)
  const head = name === '' ? '[Forwarded message]' : `[Forwarded message, written by ${name}]`
  const lines = cutAt(text, FORWARD_MAX).split(/\r\n|[\n\r\u2028\u2029]/)
  return [head, ...lines.map(line => `> ${line}`)].join('\n')
}

const nameOf = (author: string): string =>
  cutAt(author.replaceAll(/[\p{C}\p{Z}[\]]+/gu, ' ').trim(), NAME_MAX)

/** For the metadata of the message; null if nothing can be quoted. */
export function asMetadata({
  author,
  own,
  text,
  selected = '',
}: AnsweredMessage): Record<string, string | true> | null {
  const shown = isBlank(text) ? selected : text
  if (isBlank(shown)) return null
  return {
    ...(own === true ? { own } : author === null ? {} : { author: cutAt(author, NAME_MAX) }),
    text: cutAt(shown, ANSWERED_MAX),
    ...(isBlank(selected) || selected === shown ? {} : { selected: cutAt(selected, ANSWERED_MAX) }),
  }
}
