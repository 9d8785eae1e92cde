/**
 * Timeout of a delegation: workers that have not finished by then are stopped, in the commit that fires the
 * timer.
 */
import type { Commit, RowChange, Timer } from '@cairn/log'
import { composeChildEnd } from './end-tree.ts'
import type { Deps } from '../deps.ts'
import { followUpTasks } from './follow-up.ts'
import { sessionResumed } from '../events/lifecycle.ts'

const idOf = (sessionId: string, toolCallId: string): string => `delegation:${sessionId}:${toolCallId}`

export const delegationTimer = (
  session_id: string,
  tool_call_id: string,
  after_ms: number,
): Extract<RowChange, { do: 'timer.set' }> => ({
  do: 'timer.set',
  id: idOf(session_id, tool_call_id),
  kind: 'delegation',
  session_id,
  after_ms,
  data: { tool_call_id },
})
export const dropDelegationTimer = (sessionId: string, toolCallId: string): RowChange => ({
  do: 'timer.drop',
  id: idOf(sessionId, toolCallId),
})

/** Re-check interval for a worker that waits for a person: waiting does not count against its time. */
const RECHECK_MS = 30_000
const WAITS = new Set(['needs_answer', 'needs_action', 'needs_approval', 'paused'])

export async function composeTimeout(
  deps: Deps,
  { id, claim, session_id, data }: Timer,
): Promise<Omit<Commit, 'session_id'>> {
  const { store } = deps
  const fire: RowChange = { do: 'timer.fire', id, claim }
  const toolCallId = String(data['tool_call_id'])
  const open = (await store.links.children(session_id, { open: true })).filter(
    link => link.tool_call_id === toolCallId,
  )
  const rows = await Promise.all(open.map(link => store.sessions.get(link.child_id)))
  if (rows.some(row => row !== null && WAITS.has(row.state)))
    return { events: [], rows: [fire, delegationTimer(session_id, toolCallId, RECHECK_MS)] }
  const ends = []
  for (const { child_id } of open) {
    const error = 'The worker was stopped: it reached the time limit of the delegation.'
    const ending = { as: 'failed', cause: 'timeout', error } as const
    const end = await composeChildEnd(deps, child_id, ending, 'timeout', { follow: false })
    if (end !== null) ends.push(end)
  }
  const [first] = ends
  const ended = ends.map(({ link }) => link.child_id)
  const next = first === undefined ? null : await followUpTasks(deps, first.link, ended, null)
  return {
    events: [...ends.flatMap(end => end.parent_events), ...(next?.parent_events ?? [])],
    rows: [fire, ...ends.flatMap(end => end.rows), ...(next?.rows ?? [])],
    also: [...ends.flatMap(end => end.parts), ...(next?.more ?? [])],
    ...(next?.parent_status === undefined ? {} : { expect_status: [next.parent_status] }),
    ...(ends.length > 0 ? { reopen: sessionResumed('worker'), reopen_from: ['completed'] } : {}),
  }
}
