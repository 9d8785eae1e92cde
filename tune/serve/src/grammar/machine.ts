/**
 * Follows a grammar byte by byte. A state is the set of all possible continuations of the text so far; each
 * is a stack of what remains. States are built when first reached and then looked up by their contents, so
 * that eventually a byte costs one table lookup.
 */
import { charge } from './budget.ts'
import { checkGrammar, MAX_WAYS } from './check.ts'
import { GrammarError, rule } from './expression.ts'
import type { Expression, Grammar } from './grammar.ts'

type Repeat = Extract<Expression, { kind: 'repeat' }>
type Stack = { readonly id: number; readonly head: Expression; readonly tail: Stack | undefined }

export type State = {
  /** Stacks with a set of bytes at the top. */
  readonly stacks: readonly Stack[]
  /** Whether the text may end here. */
  readonly accepts: boolean
  /** By byte: undefined if not computed yet, null if the byte is not allowed. */
  readonly next: (State | null | undefined)[]
}

export type Machine = {
  readonly start: State
  /** The state after a byte. Null if the grammar does not allow it. */
  step(state: State, byte: number): State | null
  /**
   * A state with the same behaviour for the next `bytes` bytes. States that differ only in counts beyond that
   * share one: whether 3,000 or 2,999 characters must follow does not matter for the next token.
   */
  within(state: State, bytes: number): State
}

/**
 * Approximate memory limit for states and stacks, in words. Beyond it all are dropped and built again on
 * demand.
 */
const MAX_WORDS = 2 ** 21
const STACK_WORDS = 20
const STATE_WORDS = 300

export function createMachine(given: Grammar): Machine {
  const { root, rules } = checkGrammar(given)
  const ids = new Map<Expression, number>()
  /** By head and tail. A number is a faster key than a text. */
  const stacks = new Map<number, Stack>()
  const states = new Map<string, State>()
  /** States by the stacks they were built from: most bytes of a character lead to the same state. */
  const ways = new Map<string, State>()
  const residuals = new Map<Expression, Map<string, Expression>>()
  /** Caches for one byte count, `nearBytes`. */
  let [rounded, near, nearBytes] = [new Map<Stack, Stack>(), new WeakMap<State, State>(), 0]
  let nextStack = 1
  let words = 0

  function push(head: Expression, tail: Stack | undefined): Stack {
    const id = ids.get(head) ?? ids.size
    ids.set(head, id)
    const key = (tail?.id ?? 0) * MAX_WORDS + id
    const known = stacks.get(key)
    if (known) return known
    const stack = { id: nextStack++, head, tail }
    stacks.set(key, stack)
    words += STACK_WORDS
    return stack
  }

  function counted(e: Repeat, min: number, max: number): Expression {
    if (min === e.min && max === e.max) return e
    const known = residuals.get(e.of) ?? new Map<string, Expression>()
    residuals.set(e.of, known)
    const key = `${min} ${max}`
    const residual = known.get(key) ?? { ...e, min, max }
    known.set(key, residual)
    return residual
  }

  /** What remains of a repetition after one iteration. */
  const afterTurn = (e: Repeat): Expression | undefined =>
    e.max === 1 ? undefined : counted(e, Math.max(0, e.min - 1), e.max - 1)

  /** An iteration takes at least one byte, or is optional: no text of these bytes shows a difference. */
  const roundCounts = (e: Expression, bytes: number): Expression =>
    e.kind === 'repeat' ? counted(e, Math.min(e.min, bytes), e.max > bytes ? Infinity : e.max) : e

  function roundStack(given: Stack, bytes: number): Stack {
    const above: Stack[] = []
    let below: Stack | undefined = given
    for (; below && !rounded.has(below); below = below.tail) above.push(below)
    let made = below && rounded.get(below)
    for (const stack of above.toReversed()) {
      made = push(roundCounts(stack.head, bytes), made)
      rounded.set(stack, made)
    }
    return made ?? given
  }

  /** Throws if there are too many ways to read the text. */
  function stateOf(given: readonly (Stack | undefined)[]): State {
    const seen = new Set<number>()
    const open = [...given]
    const found: Stack[] = []
    let accepts = false
    const add = (head: Expression, tail: Stack | undefined) => void open.push(push(head, tail))
    while (open.length > 0) {
      const stack = open.pop()
      if (!stack) {
        accepts = true
        continue
      }
      if (seen.has(stack.id)) continue
      seen.add(stack.id)
      charge('steps', 1)
      if (seen.size > MAX_WAYS)
        throw new GrammarError(`more than ${MAX_WAYS} ways to parse one text; make the format less ambiguous`)
      const { head, tail } = stack
      switch (head.kind) {
        case 'bytes':
          found.push(stack)
          break
        case 'sequence':
          open.push(head.parts.reduceRight<Stack | undefined>((rest, part) => push(part, rest), tail))
          break
        case 'choice':
          for (const option of head.options) add(option, tail)
          break
        case 'repeat': {
          if (head.min === 0) open.push(tail)
          const more = afterTurn(head)
          add(head.of, more ? push(more, tail) : tail)
          break
        }
        case 'rule': {
          const body = rules.get(head.name)
          if (body) add(body, tail)
        }
      }
    }
    const key = `${accepts} ${found
      .map(({ id }) => id)
      .toSorted((a, b) => a - b)
      .join(' ')}`
    const known = states.get(key)
    if (known) return known
    const state: State = { stacks: found, accepts, next: [] }
    states.set(key, state)
    words += STATE_WORDS + found.length
    return state
  }

  function makeNext(state: State, byte: number): State | null {
    if (words > MAX_WORDS) {
      // States in use stay valid: they hold their stacks, but no longer each other.
      for (const known of states.values()) known.next.length = 0
      start.next.length = 0
      for (const kept of [states, ways, stacks, ids, residuals, rounded]) kept.clear()
      words = 0
    }
    const tails = state.stacks.flatMap(({ head, tail }) =>
      head.kind === 'bytes' && head.set[byte] ? [tail] : [],
    )
    const key = tails.map(tail => tail?.id ?? 0).join(' ')
    const next = tails.length === 0 ? null : (ways.get(key) ?? stateOf(tails))
    if (next) ways.set(key, next)
    state.next[byte] = next
    return next
  }

  const start = stateOf([push(rule(root), undefined)])
  return {
    start,
    step(state, byte) {
      const known = state.next[byte]
      return known === undefined ? makeNext(state, byte) : known
    },
    within(state, bytes) {
      if (bytes !== nearBytes) [rounded, near, nearBytes] = [new Map(), new WeakMap(), bytes]
      const known = near.get(state)
      if (known) return known
      const stacks = state.stacks.map(stack => roundStack(stack, bytes))
      const found = stateOf(state.accepts ? [...stacks, undefined] : stacks)
      near.set(state, found)
      return found
    },
  }
}

/** Whether a machine's grammar matches a whole text. */
export function acceptsText(machine: Machine, text: string): boolean {
  let state: State | null = machine.start
  for (const byte of new TextEncoder().encode(text)) state = state && machine.step(state, byte)
  return state?.accepts ?? false
}
