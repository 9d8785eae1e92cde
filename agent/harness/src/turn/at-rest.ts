/**
 * A session comes to rest before its turn has ended normally: it waits or fails, within a turn or because no
 * turn could continue. The capabilities add their pending work to the commit of that rest.
 */
import { CommitRefused, type EventWithRows, type Refusal, type RowChange } from '@cairn/log'
import type { Capability, Ending, Resting } from './capability.ts'

export type Rest = { events: EventWithRows[]; rows: RowChange[] }

export async function atRest(capabilities: readonly Capability[], resting: Resting): Promise<Rest> {
  const endings: Ending[] = []
  for (const { onRest } of capabilities) if (onRest) endings.push(await onRest(resting))
  return {
    events: endings.flatMap(({ before = [], after = [] }) => [...before, ...after]),
    rows: endings.flatMap(({ rows = [] }) => [...rows]),
  }
}

/**
 * Refusals because something arrived since the last read: work, the acknowledgment of a check-in that this
 * commit would have ended, or the answer to a task about which a person was to be asked.
 */
const LOOK_AGAIN: readonly Refusal[] = ['new_work', 'already_answered', 'task_moved']

/** The commit of a rest was refused because there is more work after all. */
export const cameMeanwhile = (thrown: unknown): boolean =>
  thrown instanceof CommitRefused && LOOK_AGAIN.includes(thrown.refusal)
