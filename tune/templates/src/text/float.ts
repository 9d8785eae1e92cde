/** Floats as Python prints them. */

/** `repr` of a float, which is the shortest text that reads back as the same number. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  const [mantissa = '0', power = '0'] = value.toExponential().split('e')
  const exponent = Number(power)
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '')
  if (exponent < -4 || exponent >= 16) {
    const rest = digits.slice(1)
    return `${sign}${digits[0]}${rest === '' ? '' : `.${rest}`}e${exponentText(exponent)}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
}

/** At least two digits and a sign. */
export const exponentText = (exponent: number): string =>
  `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`

/** A finite float, exactly, as numerator and denominator. */
function fractionOf(value: number): [bigint, bigint] {
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, Math.abs(value))
  const high = bits.getUint32(0)
  const power = (high >>> 20) & 0x7ff
  const mantissa = (BigInt(high & 0xfffff) << 32n) | BigInt(bits.getUint32(4))
  const whole = power === 0 ? mantissa : mantissa | (1n << 52n)
  const shift = (power === 0 ? 1 : power) - 1075
  const signed = value < 0 ? -whole : whole
  return shift >= 0 ? [signed << BigInt(shift), 1n] : [signed, 1n << BigInt(-shift)]
}

/** `value * 10**places` as an integer, rounded half to even as Python does. */
export function scaledInteger(value: number, places: number): bigint {
  const [numerator, denominator] = fractionOf(Math.abs(value))
  const scaled = places >= 0 ? numerator * 10n ** BigInt(places) : numerator
  const divisor = places >= 0 ? denominator : denominator * 10n ** BigInt(-places)
  const quotient = scaled / divisor
  const twice = 2n * (scaled % divisor)
  const isUp = twice > divisor || (twice === divisor && quotient % 2n === 1n)
  return isUp ? quotient + 1n : quotient
}

/** The absolute value with a fixed number of digits behind the point. */
export function fixedText(value: number, places: number): string {
  const digits = String(scaledInteger(value, places)).padStart(places + 1, '0')
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/** The absolute value as its digits, of which there are `places + 1`, and the power of ten of the first. */
export function scientificParts(value: number, places: number): { digits: string; exponent: number } {
  if (value === 0) return { digits: '0'.repeat(places + 1), exponent: 0 }
  let exponent = Math.floor(Math.log10(Math.abs(value)))
  for (;;) {
    const digits = String(scaledInteger(value, places - exponent))
    if (digits.length === places + 1) return { digits, exponent }
    // The estimate is off by one, or rounding has made one digit more.
    exponent += digits.length > places + 1 ? 1 : -1
  }
}
