/** Converts regular expressions in JavaScript's syntax to grammars. */
import { RegExpParser, type AST } from '@eslint-community/regexpp'
import { nested, once, charge } from './budget.ts'
import {
  characters,
  choice,
  complement,
  GrammarError,
  inOrder,
  MAX_CODE_POINT,
  repeat,
} from './expression.ts'
import type { Expression, Range } from './grammar.ts'
import { acceptsText, createMachine } from './machine.ts'

/** Encodes a character of some ranges: as it is, or as in a JSON string. */
export type Writer = (ranges: readonly Range[]) => Expression

const code = (text: string) => text.codePointAt(0) ?? 0
const between = (text: string): Range[] =>
  text.split(' ').map(pair => [code(pair), code(pair.slice(-1))] as const)
const DIGITS = between('09')
const WORDS = between('09 AZ __ az')
const SPACES: readonly Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]
const LINE_ENDS: readonly Range[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]
export const ANY: readonly Range[] = [[0, MAX_CODE_POINT]]

/** Steps charged for a scan of all characters. */
const PROPERTY_STEPS = 15_000
const properties = new Map<string, readonly Range[]>()

/** Characters of a Unicode property, found with the JavaScript engine's own expression. */
function propertyRanges(raw: string): readonly Range[] {
  charge('steps', PROPERTY_STEPS)
  const known = properties.get(raw)
  if (known) return known
  const pattern = new RegExp(`^${raw}$`, 'u')
  const ranges: Range[] = []
  let from = -1
  for (let point = 0; point <= MAX_CODE_POINT + 1; point++) {
    const isIn = point <= MAX_CODE_POINT && pattern.test(String.fromCodePoint(point))
    if (isIn && from < 0) from = point
    if (!isIn && from >= 0) {
      ranges.push([from, point - 1])
      from = -1
    }
  }
  properties.set(raw, ranges)
  return ranges
}

function refuse(what: string, { raw }: { raw: string }): never {
  throw new GrammarError(`${what} (${raw}) is not supported in a regular expression`)
}

type Element = AST.Element | AST.CharacterClassElement

function rangesOf(element: Element): readonly Range[] {
  switch (element.type) {
    case 'Character':
      return [[element.value, element.value]]
    case 'CharacterClassRange':
      return [[element.min.value, element.max.value]]
    case 'CharacterSet': {
      if (element.kind === 'any') return complement(LINE_ENDS)
      if (element.kind === 'property') return propertyRanges(element.raw)
      const ranges = { digit: DIGITS, space: SPACES, word: WORDS }[element.kind]
      return element.negate ? complement(ranges) : ranges
    }
    case 'CharacterClass': {
      const ranges = element.elements.flatMap(one => rangesOf(one as Element))
      charge('steps', ranges.length)
      return element.negate ? complement(ranges) : ranges
    }
    default:
      return refuse('this element', element)
  }
}

function expressionOf(element: AST.Element, write: Writer): Expression {
  switch (element.type) {
    case 'Group':
    case 'CapturingGroup':
      if (element.type === 'Group' && element.modifiers) refuse('a modifier', element)
      return choice(
        element.alternatives.map(one => inOrder(one.elements.map(e => nested(() => expressionOf(e, write))))),
      )
    case 'Quantifier':
      return repeat(
        nested(() => expressionOf(element.element, write)),
        element.min,
        element.max,
      )
    case 'Assertion':
      return element.kind === 'start' || element.kind === 'end'
        ? refuse('an anchor not at the start or end', element)
        : refuse('a lookaround or word boundary', element)
    case 'Backreference':
      return refuse('a back-reference', element)
    default:
      return once(write, element.raw, () => write(rangesOf(element)))
  }
}

/**
 * Texts that a regular expression matches as a whole. With `finds`, an expression without an anchor may match
 * anywhere in the text, like `pattern` in JSON Schema.
 */
export function regexExpression(source: string, write: Writer, finds = false): Expression {
  const any = repeat(
    once(write, 'any', () => write(ANY)),
    0,
    Infinity,
  )
  return choice(
    parse(source).alternatives.map(({ elements }) => {
      const isAnchor = (element: AST.Element | undefined, kind: 'start' | 'end') =>
        element?.type === 'Assertion' && element.kind === kind
      const [hasStart, hasEnd] = [isAnchor(elements[0], 'start'), isAnchor(elements.at(-1), 'end')]
      const inner = elements.slice(hasStart ? 1 : 0, hasEnd ? -1 : undefined)
      return inOrder([
        ...(finds && !hasStart ? [any] : []),
        ...inner.map(element => expressionOf(element, write)),
        ...(finds && !hasEnd ? [any] : []),
      ])
    }),
  )
}

/** Returns a test, in bounded time, whether a client's regular expression matches somewhere in a text. */
export function finderOf(pattern: string): (text: string) => boolean {
  const machine = createMachine({
    root: 'root',
    rules: new Map([['root', regexExpression(pattern, characters, true)]]),
  })
  return text => acceptsText(machine, text)
}

function parse(source: string): AST.Pattern {
  try {
    return new RegExpParser().parsePattern(source, 0, source.length, { unicode: true })
  } catch (error) {
    throw new GrammarError(error instanceof Error ? error.message : String(error))
  }
}
