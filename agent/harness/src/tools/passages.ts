/**
 * Passages of a file and their line ends. Texts here have one character per byte (latin1), so that bytes
 * outside a passage are preserved in any encoding.
 */
export type Passage = { start: number; end: number }
export type LineEnd = '\n' | '\r\n'

/** The line end of a whole text; null: it has none, or both kinds. */
export function lineEndOf(text: string): LineEnd | null {
  let crlf = 0
  let all = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    all += 1
    if (text[at - 1] === '\r') crlf += 1
    if (crlf > 0 && crlf < all) return null
  }
  return all === 0 ? null : crlf === 0 ? '\n' : '\r\n'
}

const flat = (text: string): string => text.replaceAll('\r\n', '\n')

/** Whether two texts differ in nothing but their line ends. */
export const differInEndsOnly = (one: string, other: string): boolean => flat(one) === flat(other)

/** Each occurrence of the passage, byte for byte if there is one, else with line ends of either kind. */
export function* findPassages(text: string, passage: string): Generator<Passage> {
  let isExact = false
  for (const start of occurrences(text, passage)) {
    // A passage that begins with a newline must not leave half of a CRLF behind.
    if (passage.startsWith('\n') && text[start - 1] === '\r') continue
    isExact = true
    yield { start, end: start + passage.length }
  }
  if (!isExact && passage.includes('\n')) yield* findFlat(text, flat(passage))
}

function* occurrences(text: string, passage: string): Generator<number> {
  for (let at = text.indexOf(passage); at !== -1; at = text.indexOf(passage, at + passage.length)) yield at
}

function* findFlat(text: string, passage: string): Generator<Passage> {
  let crlf = text.indexOf('\r\n')
  let before = 0
  /** Must be called with growing positions. */
  const inText = (at: number): number => {
    for (; crlf !== -1 && crlf - before < at; crlf = text.indexOf('\r\n', crlf + 2)) before += 1
    return at + before
  }
  for (const at of occurrences(flat(text), passage))
    yield { start: inText(at), end: inText(at + passage.length) }
}

/**
 * `next` with the line ends of the passage that it replaces: line by line, and further lines like the last
 * one. A passage without line ends has those of the text around it.
 */
export function withEndsOf(next: string, text: string, { start, end }: Passage): string {
  const lines = next.split(/\r?\n/)
  if (lines.length === 1) return next
  const own = text.slice(start, end).match(/\r?\n/g) ?? []
  const last = own.at(-1) ?? endAround(text, start, end)
  if (last === undefined) return next
  return lines.map((line, at) => (at < lines.length - 1 ? line + (own[at] ?? last) : line)).join('')
}

function endAround(text: string, start: number, end: number): string | undefined {
  const after = text.indexOf('\n', end)
  const at = after === -1 && start > 0 ? text.lastIndexOf('\n', start - 1) : after
  return at === -1 ? undefined : text[at - 1] === '\r' ? '\r\n' : '\n'
}
