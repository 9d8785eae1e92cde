/** JSON numbers within bounds. Numbers have at most 15 digits, which every JSON reader preserves exactly. */
import { characters, choice, literal, NEVER, optional, repeat, sequence } from './expression.ts'
import type { Expression } from './grammar.ts'

const DIGITS = 15
const LARGEST = 10 ** DIGITS - 1

const digits = (from: string, to: string): Expression => characters([[from.charCodeAt(0), to.charCodeAt(0)]])
const anyDigits = (min: number, max: number): Expression => repeat(digits('0', '9'), min, max)

/** Numbers with as many digits as both bounds have. */
function sameLength(from: string, to: string): Expression {
  const [a = '', b = ''] = [from[0], to[0]]
  if (/^0*$/.test(from) && /^9*$/.test(to)) return anyDigits(from.length, from.length)
  if (a === b) return sequence(literal(a), sameLength(from.slice(1), to.slice(1)))
  const rest = from.length - 1
  const [low, high] = [String.fromCharCode(a.charCodeAt(0) + 1), String.fromCharCode(b.charCodeAt(0) - 1)]
  return choice([
    sequence(literal(a), sameLength(from.slice(1), '9'.repeat(rest))),
    ...(low <= high ? [sequence(digits(low, high), anyDigits(rest, rest))] : []),
    sequence(literal(b), sameLength('0'.repeat(rest), to.slice(1))),
  ])
}

/** Whole numbers from `from` to `to`, both at least 0. */
function natural(from: number, to: number): Expression {
  const options: Expression[] = []
  for (let low = from; low <= to;) {
    const high = Math.min(to, 10 ** String(low).length - 1)
    options.push(sameLength(String(low), String(high)))
    low = high + 1
  }
  return choice(options)
}

const minus = literal('-')
/** −0 equals 0, but not every reader treats it as a whole number. */
const integers = (from: number, to: number): Expression =>
  choice([
    ...(to >= 0 ? [natural(Math.max(0, from), to)] : []),
    ...(from < 0 ? [sequence(minus, natural(Math.max(1, -to), -from))] : []),
  ])

export type Bounds = { minimum: number; maximum: number; isOpenBelow: boolean; isOpenAbove: boolean }

/** Whole numbers within bounds. */
export function integer({ minimum, maximum, isOpenBelow, isOpenAbove }: Bounds): Expression {
  const lowest = Math.ceil(minimum)
  const highest = Math.floor(maximum)
  const from = Math.max(-LARGEST, isOpenBelow && lowest === minimum ? lowest + 1 : lowest)
  const to = Math.min(LARGEST, isOpenAbove && highest === maximum ? highest - 1 : highest)
  return from > to ? NEVER : integers(from, to)
}

/** Nonzero, so that a number with this fraction lies strictly between two whole ones. */
const fraction = (max: number): Expression => sequence(literal('.'), anyDigits(0, max - 1), digits('1', '9'))

/**
 * Numbers within bounds: whole ones, and those between two neighbouring whole numbers that are both within. A
 * bound between two whole numbers is moved to the next one inside.
 */
export function number(bounds: Bounds): Expression {
  const { minimum, maximum } = bounds
  if (minimum === -Infinity && maximum === Infinity)
    return sequence(
      optional(minus),
      choice([literal('0'), sequence(digits('1', '9'), anyDigits(0, 7))]),
      optional(sequence(literal('.'), anyDigits(1, 7))),
      optional(
        sequence(
          characters([
            [0x65, 0x65],
            [0x45, 0x45],
          ]),
          optional(
            characters([
              [0x2b, 0x2b],
              [0x2d, 0x2d],
            ]),
          ),
          anyDigits(1, 2),
        ),
      ),
    )
  // Whole numbers n with n and n + 1 within the bounds. Numbers of more than eight digits have no fraction.
  const [from, to] = [
    Math.max(-99_999_999, Math.ceil(minimum)),
    Math.min(99_999_999, Math.floor(maximum)) - 1,
  ]
  const above = from <= to && to >= 0 ? [sequence(natural(Math.max(0, from), to), fraction(7))] : []
  const below =
    from <= to && from < 0 ? [sequence(minus, natural(Math.max(0, -to - 1), -from - 1), fraction(7))] : []
  return choice([integer(bounds), ...above, ...below])
}
