/** The syntax of JSON: strings, white space, and values of any kind. */
import { nested } from './budget.ts'
import { characters, choice, complement, literal, optional, repeat, rule, sequence } from './expression.ts'
import type { Expression, Range } from './grammar.ts'
import { number } from './numbers.ts'
import { ANY, type Writer } from './regex.ts'

const SHORT: readonly (readonly [code: number, escape: string])[] = [
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0c, 'f'],
  [0x0d, 'r'],
  [0x22, '"'],
  [0x5c, '\\'],
]
const ESCAPED: readonly Range[] = [
  [0, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
]

/** Characters in a JSON string. Each has exactly one form. */
export const inString: Writer = ranges => {
  const has = (point: number) => ranges.some(([from, to]) => from <= point && point <= to)
  const inside = complement([...complement(ranges), ...ESCAPED])
  const escapes = SHORT.filter(([point]) => has(point)).map(([, escape]) => literal(`\\${escape}`))
  const controls = Array.from({ length: 0x20 }, (_, point) => point)
    .filter(point => has(point) && !SHORT.some(([short]) => short === point))
    .map(point => literal(`\\u${point.toString(16).padStart(4, '0')}`))
  return choice([characters(inside), ...escapes, ...controls])
}

const hex = characters([
  [0x30, 0x39],
  [0x41, 0x46],
  [0x61, 0x66],
])
/** Any four-digit escape except surrogates. */
const unicodeEscape = sequence(
  literal('\\u'),
  choice([
    sequence(
      characters([
        [0x30, 0x39],
        [0x41, 0x43],
        [0x45, 0x46],
        [0x61, 0x63],
        [0x65, 0x66],
      ]),
      hex,
    ),
    sequence(
      characters([
        [0x44, 0x44],
        [0x64, 0x64],
      ]),
      characters([[0x30, 0x37]]),
    ),
  ]),
  hex,
  hex,
)
const quote = literal('"')
export const quoted = (inner: Expression): Expression => sequence(quote, inner, quote)

/** A character of a string without constraints. */
const freeCharacter = choice([inString(ANY), literal('\\/'), unicodeEscape])
export const string = (min = 0, max = Infinity): Expression => quoted(repeat(freeCharacter, min, max))

/**
 * White space between the parts of a value: none, a space, or a new line with some indentation. Without this
 * limit a model could generate white space for ever.
 */
const space: Expression = rule('space')
const spaceBody = optional(
  choice([
    literal(' '),
    sequence(
      literal('\n'),
      repeat(
        characters([
          [0x09, 0x09],
          [0x20, 0x20],
        ]),
        0,
        40,
      ),
    ),
  ]),
)

export const comma = sequence(space, literal(','), space)
export const colon = sequence(space, literal(':'), space)
/** Content between brackets. An empty content gives the bare brackets. */
export const enclosed = (open: string, inner: Expression, close: string): Expression =>
  sequence(literal(open), space, inner, space, literal(close))

export const list = (item: Expression, min = 0, max = Infinity): Expression => {
  if (max < 1) return sequence()
  const some = sequence(item, repeat(sequence(comma, item), Math.max(0, min - 1), max - 1))
  return min === 0 ? optional(some) : some
}

export const anyValue = rule('value')
export const anyObject = rule('object')
export const anyArray = rule('array')

/** Rules that every grammar of JSON has. */
export const jsonRules = (): Map<string, Expression> =>
  new Map([
    ['space', spaceBody],
    ['object', enclosed('{', list(sequence(string(), colon, anyValue)), '}')],
    ['array', enclosed('[', list(anyValue), ']')],
    [
      'value',
      choice([
        literal('null'),
        literal('true'),
        literal('false'),
        number({ minimum: -Infinity, maximum: Infinity, isOpenBelow: false, isOpenAbove: false }),
        string(),
        anyArray,
        anyObject,
      ]),
    ],
  ])

/** A string that equals none of the given ones. */
export function stringNot(names: readonly string[]): Expression {
  const tail = repeat(inString(ANY), 0, Infinity)
  const without = (left: readonly (readonly string[])[]): Expression => {
    const isWhole = left.some(name => name.length === 0)
    const going = left.filter(name => name.length > 0)
    const firsts = [...new Set(going.map(([first = '']) => first))]
    const points = firsts.map((first): Range => [first.codePointAt(0) ?? 0, first.codePointAt(0) ?? 0])
    return choice([
      ...(isWhole ? [] : [sequence()]),
      sequence(inString(complement(points)), tail),
      ...firsts.map((first, i) =>
        sequence(
          inString(points.slice(i, i + 1)),
          nested(() => without(going.filter(([other]) => other === first).map(name => name.slice(1)))),
        ),
      ),
    ])
  }
  return quoted(without(names.map(name => [...name])))
}
