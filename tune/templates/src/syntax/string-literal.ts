/** Escape sequences in string literals, which are Python's. */
import { TemplateError } from '../errors.ts'

const SIMPLE: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }
const ESCAPE = /\\([0-7]{1,3}|[\s\S])/g

/** The text that the inner part of a literal stands for. Unknown sequences keep their backslash. */
export function unescape(inner: string, line: number): string {
  if (!inner.includes('\\')) return inner
  let text = ''
  let position = 0
  for (;;) {
    ESCAPE.lastIndex = position
    const found = ESCAPE.exec(inner)
    if (!found) return text + inner.slice(position)
    const [whole, code = ''] = found
    text += inner.slice(position, found.index)
    position = found.index + whole.length
    const digits = HEX_DIGITS[code]
    if (digits !== undefined) {
      const hex = inner.slice(position, position + digits)
      if (hex.length < digits || !/^[\da-fA-F]+$/.test(hex) || Number.parseInt(hex, 16) > 0x10ffff)
        throw new TemplateError(`invalid escape sequence ${whole}${hex} in a string`, line)
      text += String.fromCodePoint(Number.parseInt(hex, 16))
      position += digits
    } else if (/^[0-7]/.test(code)) text += String.fromCodePoint(Number.parseInt(code, 8))
    else if (code === 'N')
      throw new TemplateError('\\N{…} in a string is not supported; write the character itself', line)
    else text += SIMPLE[code] ?? whole
  }
}
