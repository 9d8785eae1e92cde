/** Time limit of a session with a budget: when it expires, the session and its subtree are stopped. */
import type { Commit, RowChange, Timer } from '@cairn/log'
import { composeChildEnd } from '../tree/cascade.ts'
import { readTree } from '../tree/commit-tree.ts'
import type { Deps } from '../deps.ts'
import { stopCommit } from './commands.ts'
import { composeMissionDeadline } from '../missions/deadline.ts'

export async function composeDeadline(
  deps: Deps,
  { id, claim, session_id, data }: Timer,
): Promise<Omit<Commit, 'session_id'>> {
  const fire: RowChange = { do: 'timer.fire', id, claim }
  if (typeof data['mission_id'] === 'string')
    return composeMissionDeadline(deps, session_id, data['mission_id'], fire)
  const of = String(data['of'])
  if (of === session_id) return stopRoot(deps, of, fire)
  const error = 'The worker was stopped: it reached the time limit of its budget.'
  const end = await composeChildEnd(deps, of, { as: 'failed', cause: 'deadline', error }, 'deadline')
  if (end === null) return { events: [], rows: [fire] }
  return {
    events: end.parent_events,
    rows: [fire, ...end.rows],
    also: end.parts,
    ...end.reopening,
  }
}

/** An idle root without open descendants has nothing to stop. */
async function stopRoot(deps: Deps, id: string, fire: RowChange): Promise<Omit<Commit, 'session_id'>> {
  const { tree, expect } = await readTree(deps, id)
  const { session, descendants } = tree
  const isAtWork = session.status === 'active' && session.wake_id > session.cursor
  if (!isAtWork && descendants.length === 0) return { events: [], rows: [fire] }
  const { session_id: _, ...stop } = await stopCommit(deps, tree, 'deadline')
  return { ...stop, rows: [fire, expect, ...(stop.rows ?? [])] }
}
