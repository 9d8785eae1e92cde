/**
 * Expressions over names of modules, in the part of Python's `re` that PEFT's patterns use. Files of others
 * contain them, so matching must not take exponential time: a node maps the set of positions where it may
 * start to the set where it may end.
 */
import { UnsupportedError } from './errors.ts'

type Positions = ReadonlySet<number>
type Node = (text: string, starts: Positions) => Positions

const MAX_LENGTH = 1000
/** Repeats within repeats. Each level multiplies the time by the length of a name. */
const MAX_NESTING = 2

const where =
  (accepts: (char: string) => boolean): Node =>
  (text, starts) =>
    new Set([...starts].flatMap(at => (at < text.length && accepts(text[at] ?? '') ? [at + 1] : [])))

const sequence =
  (parts: readonly Node[]): Node =>
  (text, starts) =>
    parts.reduce((at, part) => part(text, at), starts)

const either =
  (parts: readonly Node[]): Node =>
  (text, starts) =>
    new Set(parts.flatMap(part => [...part(text, starts)]))

function repeat(part: Node, min: number, max: number): Node {
  return (text, starts) => {
    let frontier = starts
    for (let i = 0; i < min; i++) frontier = part(text, frontier)
    const ends = new Set(frontier)
    for (let i = min; i < max && frontier.size > 0; i++) {
      frontier = new Set([...part(text, frontier)].filter(at => !ends.has(at)))
      for (const at of frontier) ends.add(at)
    }
    return ends
  }
}

const CLASSES: Readonly<Record<string, RegExp>> = { d: /\d/, w: /\w/, s: /\s/, D: /\D/, W: /\W/, S: /\S/ }

/**
 * Compiles an expression that must match a text from one of the given positions to its end. Throws for what
 * is not supported.
 */
export function compileNameExpression(source: string): (text: string, starts: Positions) => boolean {
  const refuse = (reason: string): never => {
    const shown = source.length > 100 ? `${source.slice(0, 100)}…` : source
    throw new UnsupportedError(`the expression ${JSON.stringify(shown)} ${reason}`)
  }
  if (source.length > MAX_LENGTH) refuse(`has more than ${MAX_LENGTH} characters`)
  let at = 0
  const takes = (text: string): boolean => {
    if (!source.startsWith(text, at)) return false
    at += text.length
    return true
  }

  function alternatives(depth: number): { node: Node; nesting: number } {
    const parts: Node[] = []
    let nesting = 0
    do {
      const items: Node[] = []
      while (at < source.length && source[at] !== '|' && source[at] !== ')') {
        const item = quantified(depth)
        nesting = Math.max(nesting, item.nesting)
        items.push(item.node)
      }
      parts.push(sequence(items))
    } while (takes('|'))
    return { node: either(parts), nesting }
  }

  function quantified(depth: number): { node: Node; nesting: number } {
    const { node, nesting } = atom(depth)
    const [text = '', min = '', comma = '', max = ''] =
      /^(?:[*+?]|\{(\d{1,2})(,?)(\d{0,2})\})/.exec(source.slice(at)) ?? []
    if (text === '') return { node, nesting }
    at += text.length
    // A lazy repeat matches the same texts.
    takes('?')
    if (/^[*+{]/.test(source.slice(at))) refuse('repeats a repeat')
    if (text === '?') return { node: repeat(node, 0, 1), nesting }
    if (nesting + 1 > MAX_NESTING) refuse(`nests repeats more than ${MAX_NESTING} deep`)
    const lower = text === '+' ? 1 : Number(min)
    const upper = comma === '' && min !== '' ? Number(min) : max === '' ? Infinity : Number(max)
    return { node: repeat(node, lower, upper), nesting: nesting + 1 }
  }

  function atom(depth: number): { node: Node; nesting: number } {
    if (takes('(')) {
      if (source[at] === '?' && !takes('?:'))
        refuse(`has ${source.slice(at - 1, at + 3)}, which is not supported`)
      if (depth > 20) refuse('nests more than 20 groups')
      const inner = alternatives(depth + 1)
      if (!takes(')')) refuse('has a group without an end')
      return inner
    }
    return { node: single(), nesting: 0 }
  }

  function single(): Node {
    const char = source[at++] ?? ''
    if (char === '.') return where(one => one !== '\n')
    if (char === '^') return (_, starts) => new Set(starts.has(0) ? [0] : [])
    if (char === '$') return (text, starts) => new Set(starts.has(text.length) ? [text.length] : [])
    if (char === '[') return set()
    if ('*+?{}'.includes(char)) refuse(`has ${char} where nothing can be repeated`)
    if (char !== '\\') return where(one => one === char)
    return where(escape())
  }

  function escape(): (char: string) => boolean {
    const escaped = source[at++] ?? ''
    const known = CLASSES[escaped]
    if (known) return one => known.test(one)
    if (/^[A-Za-z0-9]?$/.test(escaped)) refuse(`has \\${escaped}, which is not supported`)
    return one => one === escaped
  }

  function set(): Node {
    const isNegated = takes('^')
    const accepts: ((char: string) => boolean)[] = []
    do {
      const char = source[at++]
      if (char === undefined) return refuse('has a set without an end')
      const end = source[at + 1]
      if (char === '\\') accepts.push(escape())
      else if (source[at] === '-' && end !== undefined && end !== ']') {
        at += 2
        accepts.push(one => one >= char && one <= end)
      } else accepts.push(one => one === char)
    } while (!takes(']'))
    return where(one => accepts.some(accept => accept(one)) !== isNegated)
  }

  const { node } = alternatives(0)
  if (at < source.length) refuse('has a ) without a group')
  return (text, starts) => node(text, starts).has(text.length)
}
