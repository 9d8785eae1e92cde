/** The time of a mission is up: its workers are stopped, and its coordinator is woken to end the round. */
import type { Commit, RowChange } from '@cairn/log'
import { stopBelow } from './cascade.ts'
import { lookAround } from './over-tree.ts'
import { foundMission } from './define-mission.ts'
import type { Deps } from './deps.ts'
import { resumed } from './lifecycle-events.ts'
import { missionOutOfTime } from './mission-messages.ts'

/** One that is paused or over has nobody at work; its resume sets the timer anew. */
export async function composeMissionDeadline(
  deps: Deps,
  sessionId: string,
  missionId: string,
  fire: RowChange,
): Promise<Omit<Commit, 'session_id'>> {
  // Before the mission is read: a pause between the two moves the tree, and all is composed anew.
  const { around, expect } = await lookAround(deps, sessionId)
  const { status } = await foundMission(deps, missionId)
  if (status !== 'active') return { events: [], rows: [fire] }
  const { told, rows, parts } = await stopBelow(deps, around, 'out of time')
  return {
    events: [...told, missionOutOfTime(missionId)],
    rows: [fire, expect, ...rows],
    also: parts,
    reopen: resumed('mission'),
  }
}
