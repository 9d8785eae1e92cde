/** Deadline of a mission: stops its workers, and wakes its coordinator to end the round. */
import type { Commit, RowChange } from '@cairn/log'
import { stopDescendants } from '../tree/cascade.ts'
import { readTree } from '../tree/commit-tree.ts'
import { foundMission } from './define.ts'
import type { Deps } from '../deps.ts'
import { sessionResumed } from '../events/lifecycle.ts'
import { missionOutOfTime } from './messages.ts'

/** A mission that is paused or over has no active workers; its resume sets a new timer. */
export async function composeMissionDeadline(
  deps: Deps,
  sessionId: string,
  missionId: string,
  fire: RowChange,
): Promise<Omit<Commit, 'session_id'>> {
  // Read before the mission: a pause in between changes the tree, and the commit is composed again.
  const { tree, expect } = await readTree(deps, sessionId)
  const { status } = await foundMission(deps, missionId)
  if (status !== 'active') return { events: [], rows: [fire] }
  const { events, rows, parts } = await stopDescendants(deps, tree, 'time limit reached')
  return {
    events: [...events, missionOutOfTime(missionId)],
    rows: [fire, expect, ...rows],
    also: parts,
    reopen: sessionResumed('mission'),
  }
}
