/**
 * Values of typed columns (Parquet, Arrow) as values of JSON, so that templates print them as Python does:
 * 2.0 stays 2.0, a time prints like Python's datetime. A struct has no key for a null, because an absent key
 * is null in a typed column.
 */
import { ExactNumber, parseExact, pythonNumber } from '@cairn-tune/weights'

export type Converter = (value: unknown) => unknown

export const floatValue = (value: number): unknown => {
  if (Number.isNaN(value)) return new ExactNumber('NaN')
  // An exponent marks the number as a float, even a whole one.
  const text = pythonNumber(value.toExponential())
  return text === JSON.stringify(value) ? value : new ExactNumber(text)
}

export const integerValue = (value: number | bigint): unknown => {
  const small = Number(value)
  return Number.isSafeInteger(small) ? small : new ExactNumber(String(value))
}

/** Unscaled digits and the number of those behind the point. */
export function decimalValue(unscaled: bigint, scale: number): unknown {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(Math.max(scale, 0) + 1, '0')
  const sign = unscaled < 0n ? '-' : ''
  if (scale <= 0) return new ExactNumber(`${sign}${digits}${'0'.repeat(-scale)}`)
  return new ExactNumber(`${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`)
}

/** A signed big-endian integer. */
export function bigIntOf(bytes: Uint8Array): bigint {
  let value = 0n
  for (const byte of bytes) value = (value << 8n) | BigInt(byte)
  return BigInt.asIntN(bytes.length * 8, value)
}

const two = (value: number) => String(value).padStart(2, '0')

export const dateValue = (days: number): string => new Date(days * 86_400_000).toISOString().slice(0, 10)

const MICROS = { s: 1_000_000n, ms: 1000n, us: 1n } as const
export type TimeUnit = keyof typeof MICROS | 'ns'

/** Nanoseconds are cut to Python's microseconds. */
const microsOf = (value: bigint, unit: TimeUnit): bigint =>
  unit === 'ns'
    ? (value - BigInt.asIntN(64, ((value % 1000n) + 1000n) % 1000n)) / 1000n
    : value * MICROS[unit]

const fraction = (micros: number) => (micros === 0 ? '' : `.${String(micros).padStart(6, '0')}`)

/** `2024-01-31 12:00:00.500000+00:00`, as Python prints a datetime. A time without a zone is local. */
export function timestampValue(value: bigint, unit: TimeUnit, zone: string | undefined): string {
  const micros = microsOf(value, unit)
  const rest = Number(((micros % 1_000_000n) + 1_000_000n) % 1_000_000n)
  const milliseconds = Number((micros - BigInt(rest)) / 1000n)
  const offset = zone === undefined ? '' : offsetOf(zone, milliseconds)
  const local = milliseconds + minutesOf(offset) * 60_000
  return `${new Date(local).toISOString().slice(0, 19).replace('T', ' ')}${fraction(rest)}${offset}`
}

/** The offset of a zone from UTC at a time, such as +01:00. */
function offsetOf(zone: string, milliseconds: number): string {
  if (/^[+-]\d\d:\d\d$/.test(zone)) return zone
  const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(
    milliseconds,
  )
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  return name.replace('GMT', '') || '+00:00'
}

function minutesOf(offset: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(offset) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0))
}

/** `12:00:00.500000`, as Python prints a time of day. */
export function timeValue(value: bigint, unit: TimeUnit): string {
  const micros = Number(microsOf(value, unit))
  const seconds = Math.floor(micros / 1_000_000)
  const [hour, minute, second] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return `${two(hour)}:${two(minute)}:${two(second)}${fraction(micros % 1_000_000)}`
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes that are UTF-8 are a text, because some writers do not mark texts. */
export function binaryValue(bytes: Uint8Array): unknown {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return Uint8Array.from(bytes)
    throw error
  }
}

/** JSON in a text column, as the datasets library stores values of mixed types. */
export function jsonValue(text: unknown): unknown {
  if (typeof text !== 'string') return text
  return parseExact(text)
}

/** A struct without the keys that are null. */
export const structValue = (entries: readonly (readonly [string, unknown])[]): Record<string, unknown> =>
  Object.fromEntries(entries.filter(([, value]) => value !== null && value !== undefined))
