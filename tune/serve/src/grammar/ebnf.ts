/**
 * Parses grammars in the syntax of llama.cpp, xgrammar and vLLM: `name ::= "text" [a-z] ( … | … )*
 * other{2,5}`, with comments from # to the end of a line. The rule `root` is the whole text.
 */
import { characters, choice, complement, GrammarError, inOrder, literal, repeat, rule } from './expression.ts'
import type { Expression, Grammar, Range } from './grammar.ts'
import { ANY } from './regex.ts'

const MAX_DEPTH = 200
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '0': '\0', f: '\f', b: '\b' }
const NAME = /[A-Za-z_][A-Za-z0-9_.-]*/y
const BLANK = /(?:\s|#[^\n]*)*/y
const REPEAT = /\{\s*(\d+)\s*(,?)\s*(\d*)\s*\}/y
const HEX = { x: 2, u: 4, U: 8 } as const

export function parseEbnf(source: string): Grammar {
  let at = 0
  let depth = 0
  const fail = (what: string): never => {
    const before = source.slice(0, at).split('\n')
    throw new GrammarError(`line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${what}`)
  }
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const found = pattern.exec(source)
    if (found) at += found[0].length
    return found
  }
  const blank = () => void match(BLANK)
  const take = (text: string): boolean => {
    const isThere = source.startsWith(text, at)
    if (isThere) at += text.length
    return isThere
  }

  /** Reads one character, possibly escaped. */
  function character(end: string): string {
    const text = String.fromCodePoint(source.codePointAt(at) ?? fail(`expected ${end}`))
    at += text.length
    if (text === '\n') fail(`expected ${end} on the same line`)
    if (text !== '\\') return text
    const kind = source[at++] ?? fail('expected a character after \\')
    const digits = HEX[kind as keyof typeof HEX]
    if (digits === undefined) return ESCAPES[kind] ?? kind
    const hex = source.slice(at, at + digits)
    const point = /^[0-9a-fA-F]+$/.test(hex) && hex.length === digits ? Number.parseInt(hex, 16) : NaN
    if (!(point <= 0x10ffff)) fail(`expected ${digits} hexadecimal digits of a character`)
    at += digits
    return String.fromCodePoint(point)
  }

  function text(): Expression {
    let value = ''
    while (!take('"')) value += character('"')
    return literal(value)
  }

  function characterClass(): Expression {
    const isNot = take('^')
    const ranges: Range[] = []
    while (!take(']')) {
      const from = character(']').codePointAt(0) ?? 0
      const isRange = source[at] === '-' && source[at + 1] !== ']'
      if (isRange) at++
      const to = isRange ? (character(']').codePointAt(0) ?? 0) : from
      if (to < from) fail('a character range must be ascending')
      ranges.push([from, to])
    }
    return characters(isNot ? complement(ranges) : ranges)
  }

  /** Undefined if no element starts here: at the end of a rule, and before the name of the next. */
  function element(): Expression | undefined {
    if (take('"')) return text()
    if (take('[')) return characterClass()
    if (take('.')) return characters(ANY)
    if (take('(')) {
      if (++depth > MAX_DEPTH) fail(`parentheses are nested deeper than the maximum of ${MAX_DEPTH} levels`)
      const inner = alternatives()
      depth--
      return take(')') ? inner : fail('expected )')
    }
    const start = at
    const name = match(NAME)?.[0]
    if (name === undefined) return undefined
    const end = at
    blank()
    const isNext = source.startsWith('::=', at)
    at = isNext ? start : end
    return isNext ? undefined : rule(name)
  }

  function repeated(of: Expression): Expression {
    if (take('*')) return repeat(of, 0, Infinity)
    if (take('+')) return repeat(of, 1, Infinity)
    if (take('?')) return repeat(of, 0, 1)
    const counts = match(REPEAT)
    if (!counts) return source[at] === '{' ? fail('expected {m}, {m,} or {m,n}') : of
    const min = Number(counts[1])
    const max = counts[2] === '' ? min : counts[3] === '' ? Infinity : Number(counts[3])
    return max < min
      ? fail('the maximum of a repetition must not be below its minimum')
      : repeat(of, min, max)
  }

  function alternatives(): Expression {
    const options: Expression[] = []
    do {
      const parts: Expression[] = []
      for (blank(); ; blank()) {
        const one = element()
        if (!one) break
        parts.push(repeated(one))
      }
      options.push(inOrder(parts))
    } while (take('|'))
    return choice(options)
  }

  const rules = new Map<string, Expression>()
  for (blank(); at < source.length; blank()) {
    const name = match(NAME)?.[0] ?? fail('expected a rule name')
    blank()
    if (!take('::=')) fail(`expected ::= after ${name}`)
    if (rules.has(name)) fail(`rule ${name} is defined twice`)
    rules.set(name, alternatives())
  }
  return { root: 'root', rules }
}
