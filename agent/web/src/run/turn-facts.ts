/** What a table of spans says about its turns, computed once for each table. */
import { kindNumber, type Spans } from '@cairn/state'

const TURN = kindNumber('turn')
const MARK = kindNumber('mark')

export type TurnFacts = {
  /** Positions of the turns. */
  turns: readonly number[]
  /** The marks of each turn that has some. */
  marks: ReadonlyMap<number, readonly number[]>
  /** Whether a step, and not only a turn, is open. */
  hasOpenStep: boolean
}

const known = new WeakMap<Spans, TurnFacts>()

export function turnFacts(spans: Spans): TurnFacts {
  const facts = known.get(spans) ?? readTurnFacts(spans)
  known.set(spans, facts)
  return facts
}

function readTurnFacts(spans: Spans): TurnFacts {
  const turns: number[] = []
  const marks = new Map<number, number[]>()
  let hasOpenStep = false
  for (let span = 0; span < spans.count; span++) {
    if (spans.kind[span] === TURN) turns.push(span)
    else if (Number.isNaN(spans.to[span])) hasOpenStep = true
    if (spans.kind[span] !== MARK) continue
    // A mark after the work of its turn belongs to the turn before it.
    const parent = spans.parent[span] ?? -1
    const turn = parent === -1 ? (turns.at(-1) ?? -1) : parent
    const known = marks.get(turn)
    if (known === undefined) marks.set(turn, [span])
    else known.push(span)
  }
  return { turns, marks, hasOpenStep }
}

/** The number of a turn, from 1. */
export function turnNumber(spans: Spans, turn: number): number {
  const { turns } = turnFacts(spans)
  let low = 0
  let high = turns.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((turns[middle] ?? 0) < turn) low = middle + 1
    else high = middle
  }
  return low + 1
}

/** The turn that a span belongs to, or that it follows; -1 before the first turn. */
export function turnOf(spans: Spans, span: number): number {
  if (spans.kind[span] === TURN) return span
  const parent = spans.parent[span] ?? -1
  if (parent !== -1) return parent
  return turnFacts(spans).turns.findLast(turn => turn <= span) ?? -1
}

/** The end of a turn's steps in the table: the position of the next turn. */
export function endOfTurn(spans: Spans, turn: number): number {
  const { turns } = turnFacts(spans)
  return turns[turnNumber(spans, turn)] ?? spans.count
}
