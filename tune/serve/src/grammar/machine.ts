/**
 * Follows a grammar byte by byte. A state is the set of all ways that the text so far may go on; each way is
 * a stack of what is still to come. States are made when they are first reached and found again by what they
 * hold, so that after a while a byte costs one look into a table.
 */
import { spend } from './budget.ts'
import { checkGrammar, MOST_WAYS } from './check.ts'
import { GrammarError, rule, type Expression, type Grammar } from './expression.ts'

type Stack = { readonly id: number; readonly head: Expression; readonly tail: Stack | undefined }

export type State = {
  /** Stacks whose head is a set of bytes. */
  readonly stacks: readonly Stack[]
  /** Whether the text may end here. */
  readonly accepts: boolean
  /** By byte: undefined where it is not known yet, null where the byte is wrong. */
  readonly next: (State | null | undefined)[]
}

export type Machine = {
  readonly start: State
  /** The state after a byte; undefined where the grammar does not have it. */
  step(state: State, byte: number): State | null
}

/** Words of memory for states and stacks, roughly; beyond them all are made anew as they are reached. */
const MOST_WORDS = 2 ** 21
const STACK_WORDS = 20
const STATE_WORDS = 300

export function createMachine(given: Grammar): Machine {
  const { root, rules } = checkGrammar(given)
  const ids = new Map<Expression, number>()
  const stacks = new Map<string, Stack>()
  const states = new Map<string, State>()
  /** States by what they were made of: most bytes of a character lead to the same one. */
  const ways = new Map<string, State>()
  const residuals = new Map<Expression, Map<string, Expression>>()
  let nextStack = 1
  let words = 0

  function push(head: Expression, tail: Stack | undefined): Stack {
    const id = ids.get(head) ?? ids.size
    ids.set(head, id)
    const key = `${id} ${tail?.id ?? 0}`
    const known = stacks.get(key)
    if (known) return known
    const stack = { id: nextStack++, head, tail }
    stacks.set(key, stack)
    words += STACK_WORDS
    return stack
  }

  /** What a repetition still is after one of its turns. */
  function afterTurn(e: Extract<Expression, { kind: 'repeat' }>): Expression | undefined {
    const [least, most] = [Math.max(0, e.least - 1), e.most - 1]
    if (most === 0) return undefined
    if (least === e.least && most === e.most) return e
    const known = residuals.get(e.of) ?? new Map<string, Expression>()
    residuals.set(e.of, known)
    const key = `${least} ${most}`
    const residual = known.get(key) ?? { ...e, least, most }
    known.set(key, residual)
    return residual
  }

  /** Throws where there are too many ways to read the text. */
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
      spend('steps', 1)
      if (seen.size > MOST_WAYS)
        throw new GrammarError(`more than ${MOST_WAYS} ways to read one text; make the form less ambiguous`)
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
          if (head.least === 0) open.push(tail)
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
    if (words > MOST_WORDS) {
      // States that are in use stay valid: they hold their stacks themselves, but no longer each other.
      for (const known of states.values()) known.next.length = 0
      start.next.length = 0
      for (const kept of [states, ways, stacks, ids, residuals]) kept.clear()
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
  }
}

/** Whether a whole text satisfies a machine's grammar. */
export function acceptsText(machine: Machine, text: string): boolean {
  let state: State | null = machine.start
  for (const byte of new TextEncoder().encode(text)) state = state && machine.step(state, byte)
  return state?.accepts ?? false
}
