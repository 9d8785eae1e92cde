/** How the text of an existing file is stored, so that a new text can replace it in the same form. */
import { isUtf8 } from 'node:buffer'
import { type LineEnd, lineEndOf } from './passages.ts'

export type TextFormat = {
  charset: 'UTF-8' | 'UTF-16LE' | 'UTF-16BE' | 'unknown'
  /** Whether it begins with a byte order mark. */
  hasMark: boolean
  ends: LineEnd | null
}

const MARK = '\ufeff'
const MARKS = [
  { charset: 'UTF-8', bytes: Buffer.from(MARK) },
  { charset: 'UTF-16LE', bytes: Buffer.from(MARK, 'utf16le') },
  { charset: 'UTF-16BE', bytes: Buffer.from(MARK, 'utf16le').swap16() },
] as const

export const hasUtf8Mark = (bytes: Buffer): boolean => formatMark(bytes)?.charset === 'UTF-8'

const formatMark = (bytes: Buffer): (typeof MARKS)[number] | undefined =>
  MARKS.find(mark => bytes.subarray(0, mark.bytes.length).equals(mark.bytes))

/** Null: a binary file, which has no form of text to keep. */
export function textFormat(bytes: Buffer): TextFormat | null {
  const mark = formatMark(bytes)
  if (mark?.charset === 'UTF-16LE' || mark?.charset === 'UTF-16BE')
    return { charset: mark.charset, hasMark: true, ends: lineEndOf(fromUtf16(mark.charset, bytes)) }
  if (bytes.subarray(0, 8192).includes(0)) return null
  return {
    charset: isUtf8(bytes) ? 'UTF-8' : 'unknown',
    hasMark: mark !== undefined,
    ends: lineEndOf(bytes.toString('latin1')),
  }
}

type Utf16 = 'UTF-16LE' | 'UTF-16BE'
const swapped = (bytes: Buffer): Buffer => Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16()
const fromUtf16 = (charset: Utf16, bytes: Buffer): string =>
  (charset === 'UTF-16BE' ? swapped(bytes) : bytes).toString('utf16le')

/** The bytes of a text in the form of the file that it replaces, and what was kept of that form. */
export function encodeLike(format: TextFormat, text: string): { bytes: Buffer; kept: string[] } {
  const kept: string[] = []
  let written = text
  // A text with carriage returns states its line ends itself.
  if (format.ends === '\r\n' && text.includes('\n') && !text.includes('\r')) {
    written = written.replaceAll('\n', '\r\n')
    kept.push('CRLF line ends')
  }
  if (format.hasMark && !text.startsWith(MARK)) {
    written = MARK + written
    kept.push('byte order mark')
  }
  if (format.charset !== 'UTF-16LE' && format.charset !== 'UTF-16BE')
    return { bytes: Buffer.from(written), kept }
  kept.push(format.charset)
  const bytes = Buffer.from(written, 'utf16le')
  return { bytes: format.charset === 'UTF-16BE' ? bytes.swap16() : bytes, kept }
}
