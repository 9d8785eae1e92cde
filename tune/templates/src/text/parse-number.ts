/** `int(text)` and `float(text)`. */
import { strip } from './white-space.ts'

const DECIMAL_DIGIT = /\p{Nd}/gu

/** Digits of any script as those of ASCII. The digits of a script follow each other in Unicode. */
function asciiDigits(text: string): string {
  return text.replaceAll(DECIMAL_DIGIT, char => {
    const code = char.codePointAt(0) ?? 0
    if (code < 0x80) return char
    for (let digit = 9; digit > 0; digit--) {
      const zero = code - digit
      const isRun = /^\p{Nd}+$/u.test(
        Array.from({ length: 10 }, (_, i) => String.fromCodePoint(zero + i)).join(''),
      )
      const isStart = !/\p{Nd}/u.test(String.fromCodePoint(zero - 1)) || zero % 16 === 0 || zero % 16 === 6
      if (isRun && isStart) return String(digit)
    }
    return '0'
  })
}

const FLOAT = /^[+-]?(?:(?:\d+(?:_\d+)*)?\.?\d+(?:_\d+)*|\d+(?:_\d+)*\.)(?:e[+-]?\d+(?:_\d+)*)?$/i
const SPECIAL = /^([+-]?)(?:(inf)(?:inity)?|nan)$/i

/** Undefined if the text is not a number. */
export function parseFloatText(text: string): number | undefined {
  const stripped = asciiDigits(strip(text))
  const special = SPECIAL.exec(stripped)
  if (special) return special[2] === undefined ? Number.NaN : special[1] === '-' ? -Infinity : Infinity
  return FLOAT.test(stripped) ? Number(stripped.replaceAll('_', '')) : undefined
}

const PREFIXES: Readonly<Record<string, number>> = { '0b': 2, '0o': 8, '0x': 16 }

/** Undefined if the text is not an integer of the base. Base 0 takes the prefix for the base. */
export function parseIntegerText(text: string, base = 10): bigint | undefined {
  const found = /^([+-]?)(0[box])?_?(.*)$/is.exec(asciiDigits(strip(text)))
  if (!found) return undefined
  const [, sign = '', given = '', rest = ''] = found
  const prefix = given.toLowerCase()
  const isPrefix = prefix !== '' && (base === 0 || base === PREFIXES[prefix])
  const digits = (isPrefix ? rest : asciiDigits(strip(text)).replace(/^[+-]/, '')).toLowerCase()
  const radix = isPrefix ? (PREFIXES[prefix] ?? 10) : base === 0 ? 10 : base
  if (!/^[\da-z]+(?:_[\da-z]+)*$/.test(digits)) return undefined
  const plain = digits.replaceAll('_', '')
  if (base === 0 && !isPrefix && /^0+[1-9]/.test(plain)) return undefined
  let value = 0n
  if (radix === 10) {
    if (!/^\d+$/.test(plain)) return undefined
    value = BigInt(plain)
  } else
    for (const char of plain) {
      const digit = Number.parseInt(char, 36)
      if (digit >= radix) return undefined
      value = value * BigInt(radix) + BigInt(digit)
    }
  return sign === '-' ? -value : value
}
