/**
 * Scalar codecs: what each code of a small float means, and which code a number gets.
 *
 * A format has a sign, `exponentBits` and `mantissaBits`. Codes of one sign are ordered like the numbers they
 * mean, so rounding is done on the integer ladder of codes: a carry out of the mantissa lands on the next
 * exponent by itself. Numbers beyond the largest finite code saturate to it.
 */

export type Minifloat = {
  mantissaBits: number
  bias: number
  signBit: number
  maxCode: number
  nanCode: number | undefined
  infCode: number | undefined
}

export const MINIFLOATS = {
  e4m3: { mantissaBits: 3, bias: 7, signBit: 0x80, maxCode: 0x7e, nanCode: 0x7f, infCode: undefined },
  e5m2: { mantissaBits: 2, bias: 15, signBit: 0x80, maxCode: 0x7b, nanCode: 0x7f, infCode: 0x7c },
  e2m1: { mantissaBits: 1, bias: 1, signBit: 0x8, maxCode: 0x7, nanCode: undefined, infCode: undefined },
} as const satisfies Record<string, Minifloat>

export type MinifloatName = keyof typeof MINIFLOATS

/**
 * How a number between two codes is rounded: to nearest (ties to the even code), or up if `uniform` in [0, 1)
 * is below the fraction.
 */
export type Rounding = 'nearest' | { uniform: number }

/** The number of a code. */
export function decodeMinifloat(name: MinifloatName, code: number): number {
  const { mantissaBits, bias, signBit, maxCode, infCode }: Minifloat = MINIFLOATS[name]
  const sign = code & signBit ? -1 : 1
  const magnitude = code & (signBit - 1)
  if (magnitude === infCode) return sign * Infinity
  if (magnitude > maxCode) return NaN
  const exponent = magnitude >> mantissaBits
  const mantissa = magnitude & ((1 << mantissaBits) - 1)
  return exponent === 0
    ? sign * mantissa * 2 ** (1 - bias - mantissaBits)
    : sign * (mantissa + (1 << mantissaBits)) * 2 ** (exponent - bias - mantissaBits)
}

/** The code of a number. A NaN has no code in e2m1 and is an error there. */
export function encodeMinifloat(name: MinifloatName, value: number, rounding: Rounding = 'nearest'): number {
  const { mantissaBits, bias, signBit, maxCode, nanCode }: Minifloat = MINIFLOATS[name]
  const sign = value < 0 || Object.is(value, -0) ? signBit : 0
  if (Number.isNaN(value)) {
    if (nanCode === undefined) throw new Error(`[${name}] cannot hold NaN`)
    return nanCode
  }
  const size = Math.abs(value)
  if (size === Infinity) return sign | maxCode
  const exponent = Math.max(size === 0 ? -Infinity : exponentOf(size), 1 - bias)
  const rung = size * 2 ** (mantissaBits - exponent)
  const rounded =
    rounding === 'nearest'
      ? roundEven(rung)
      : Math.floor(rung) + (rounding.uniform < rung - Math.floor(rung) ? 1 : 0)
  const code = (exponent + bias) * (1 << mantissaBits) + rounded - (1 << mantissaBits)
  return sign | Math.min(code, maxCode)
}

const doubleView = new DataView(new ArrayBuffer(8))

/** Floor of log2 of a positive finite number, exactly. */
export function exponentOf(value: number): number {
  doubleView.setFloat64(0, value)
  const field = (doubleView.getUint16(0) >> 4) & 0x7ff
  return field === 0 ? exponentOf(value * 2 ** 64) - 64 : field - 1023
}

function roundEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor
}

const floatBits = new Float32Array(1)
const wordBits = new Uint32Array(floatBits.buffer)

export function decodeBf16(code: number): number {
  wordBits[0] = code << 16
  return floatBits[0] ?? 0
}

/** The nearest bf16 of an f32, ties to even. A NaN stays a NaN. */
export function encodeBf16(value: number): number {
  floatBits[0] = value
  const bits = wordBits[0] ?? 0
  if (Number.isNaN(value)) return (bits >>> 16) | 0x40
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) / 0x10000) & 0xffff
}

export const roundBf16 = (value: number) => decodeBf16(encodeBf16(value))

/** E8M0: a power of two; 255 is NaN. */
export const decodeE8m0 = (code: number) => (code === 255 ? NaN : 2 ** (code - 127))

/** The largest power of two not above the value, within range. */
export function encodeE8m0(value: number): number {
  if (!(value > 0)) return value === 0 ? 0 : 255
  return value === Infinity ? 254 : Math.min(Math.max(exponentOf(value) + 127, 0), 254)
}
