/**
 * What a session does or waits for, in one word (contract 4.10), as used in every list, header, command and
 * exit code. A function of its row, so it is the same on every store and in every process. The rule is the
 * table below, read from the top; code and SQL are both generated from it, so filters agree with records.
 *
 * An approval ranks below work: a gate suspends nothing, so it shows only after the turn. An action ranks
 * above work unless work was requested after it, which continues the turn without it. Future workers do not
 * count.
 *
 * Whether a runner holds the lease is not an input. Work is `wake_id > cursor`, and the cursor reaches
 * wake_id in the same commit that releases the lease, so a session with a running turn has work. A lease
 * alone would flicker: between a message and its claim, and during the review of a finished session.
 */
import type { Session, SessionState, SessionStatus } from '@cairn/protocol'

export type StateFacts = {
  status: SessionStatus
  waiting_on: Session['waiting_on']
  /** A runner is needed: `hasWork` of the row. */
  has_work: boolean
  /** The last event that requests work, and the last that suspends the turn for a person. */
  wake_id: number
  asked_id: number
}

type Facts = Pick<StateFacts, 'status' | 'waiting_on' | 'has_work'> & {
  /** The turn was suspended after work was last requested. */
  asked_since: boolean
}

/** The first case whose facts all hold applies. */
const CASES: readonly (readonly [when: Partial<Facts>, state: SessionState])[] = [
  [{ status: 'archived' }, 'done'],
  [{ status: 'paused' }, 'paused'],
  [{ status: 'failed' }, 'failed'],
  [{ waiting_on: 'question' }, 'needs_answer'],
  [{ waiting_on: 'action', asked_since: true }, 'needs_action'],
  [{ has_work: true }, 'running'],
  [{ waiting_on: 'action' }, 'needs_action'],
  [{ waiting_on: 'approval' }, 'needs_approval'],
  [{ status: 'completed' }, 'done'],
  [{}, 'idle'],
]

export function sessionState({ asked_id, wake_id, ...known }: StateFacts): SessionState {
  const facts: Facts = { ...known, asked_since: asked_id > wake_id }
  const isTrue = (when: Partial<Facts>): boolean =>
    Object.entries(when).every(([name, value]) => facts[name as keyof Facts] === value)
  return (CASES.find(([when]) => isTrue(when))?.[1] ?? 'idle') satisfies SessionState
}

/** Rank of what a session waits on, as in `waitingSql`. */
const RANKS = { question: 1, action: 2, approval: 3 } as const

const CONDITIONS: { [F in keyof Facts]: (value: Facts[F], waiting: string) => string } = {
  status: value => `s.status = '${value}'`,
  waiting_on: (value, waiting) =>
    value === null ? `(${waiting}) IS NULL` : `(${waiting}) = ${RANKS[value]}`,
  has_work: value => `${value ? '' : 'NOT '}(s.saga = 2 OR (s.status = 'active' AND s.wake_id > s.cursor))`,
  asked_since: value => (value ? 's.asked_id > s.wake_id' : 's.asked_id <= s.wake_id'),
}

const conditionOf = <F extends keyof Facts>(name: F, value: Facts[F], waiting: string): string =>
  CONDITIONS[name](value, waiting)

/** The state of the row `s` in SQL, on both stores; `waiting` is the rank of what it waits on. */
export function stateSql(waiting: string): string {
  const cases = CASES.map(([when, state]) => {
    const all = Object.entries(when).map(([name, value]) => conditionOf(name as keyof Facts, value, waiting))
    return all.length === 0 ? `ELSE '${state}'` : `WHEN ${all.join(' AND ')} THEN '${state}'`
  })
  return `CASE ${cases.join(' ')} END`
}
