/**
 * A session comes to rest before its turn has ended in order: it waits, or it fails, inside a turn or because
 * no turn of it could go on. The capabilities add what is owed then, in the commit of that rest.
 */
import { CommitRefused, type Draft, type Refusal, type RowChange } from '@cairn/log'
import type { Capability, Ending, Resting } from './capability.ts'

export type Rest = { events: Draft[]; rows: RowChange[] }

export async function atRest(capabilities: readonly Capability[], resting: Resting): Promise<Rest> {
  const endings: Ending[] = []
  for (const { onRest } of capabilities) if (onRest) endings.push(await onRest(resting))
  return {
    events: endings.flatMap(({ before = [], after = [] }) => [...before, ...after]),
    rows: endings.flatMap(({ rows = [] }) => [...rows]),
  }
}

/**
 * Something came meanwhile: work, somebody's look at a check-in that this would have ended, the answer to a
 * task that a person was to be asked about.
 */
const LOOK_AGAIN: readonly Refusal[] = ['new_work', 'already_answered', 'task_moved']

/** The commit of a rest was refused because there is more to do after all. */
export const cameMeanwhile = (thrown: unknown): boolean =>
  thrown instanceof CommitRefused && LOOK_AGAIN.includes(thrown.refusal)
