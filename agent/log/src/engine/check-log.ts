/**
 * Checks one log: ids without gaps, and the counters of its session's row against the fold of it.
 */
import type { EventType } from '@cairn/protocol'
import type { LostIds } from '../store.ts'
import { applyEffect, effectOf, type Projected } from './projection.ts'
import type { ResourceCheck } from './resource.ts'
import type { StoredSession } from './session-rows.ts'

export type LoggedRow = { id: number; type: EventType; json: string }
export type Problem = (what: string) => void

const FOLDED = [
  'message_count',
  'tool_call_count',
  'input_tokens',
  'output_tokens',
  'cost_usd',
  'wake_id',
  'asked_id',
  'saga',
  'provisional',
  'unpriced',
] as const

function checkRecord(sessionId: string, row: LoggedRow, problem: Problem): Record<string, unknown> {
  try {
    const record = JSON.parse(row.json) as {
      id: unknown
      session_id: unknown
      type: unknown
      data: Record<string, unknown>
    }
    if (record.id !== row.id || record.session_id !== sessionId || record.type !== row.type)
      problem(`event ${row.id} holds the record of another event`)
    return record.data
  } catch {
    problem(`event ${row.id} is not JSON`)
    return {}
  }
}

/**
 * Checks that a log is complete and that its session's row is the fold of it. Only superseded llm.delta rows
 * are ever deleted from a log, so missing records count as pruned and must precede a response.
 */
export function checkLog(
  session: StoredSession,
  rows: Iterable<LoggedRow>,
  problem: Problem,
  checks: readonly ResourceCheck[],
  lost: readonly LostIds[] = [],
): void {
  /** Ids between two records that were lost, and the id that was skipped after them. */
  const lostBetween = (after: number, before: number): number =>
    lost
      .filter(({ after_id, last_id }) => after_id >= after && last_id < before)
      .reduce((sum, { after_id, last_id }) => sum + last_id + 1 - after_id, 0)
  const fold: Projected = {
    status: 'active',
    title: null,
    provisional: 0,
    message_count: 0,
    tool_call_count: 0,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    unpriced: 0,
    wake_id: 0,
    asked_id: 0,
    saga: 0,
  }
  for (const check of checks) check.begin?.(session.id)
  let last = 0
  let missing = 0
  let uncovered: number | null = null
  for (const row of rows) {
    const gap = row.id === last + 1 ? 0 : row.id - last - 1 - lostBetween(last, row.id)
    if (gap !== 0) {
      missing += gap
      uncovered ??= last + 1
    }
    last = row.id
    if (row.type === 'llm.response') uncovered = null
    if (row.type === 'llm.delta' && (session.delta_low === 0 || row.id < session.delta_low))
      problem(`event ${row.id} is an llm.delta that pruning would never find`)
    const data = checkRecord(session.id, row, problem)
    for (const check of checks) check.see?.(session.id, row.id, row.type, data)
    const effect = effectOf(row.type, data)
    if (effect !== null) applyEffect(fold, row.id, effect)
  }
  if (last + lostBetween(last, Infinity) !== session.last_id)
    problem(`its last event is ${last}, its row says ${session.last_id}`)
  if (missing !== session.pruned) problem(`${missing} events are missing, ${session.pruned} were pruned`)
  if (uncovered !== null) problem(`event ${uncovered} is missing, and no llm.response follows it`)
  for (const column of FOLDED)
    if (fold[column] !== session[column])
      problem(`${column} is ${session[column]}, its log says ${fold[column]}`)
}
