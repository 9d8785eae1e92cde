/** How a worker stands, in words. */
import type { WorkerView } from '@cairn/protocol'
import { stateWord } from '../sessions/session-state.tsx'
import { workersWords } from '../words/workers.ts'

type Cause = NonNullable<WorkerView['cause']>
const CAUSES: Record<Cause, string> = workersWords.causes
export const causeWord = (cause: Cause): string => CAUSES[cause]

/** As a session's dot: what has ended is done or failed, whatever its session has become since. */
const shownState = ({ status, state }: WorkerView): WorkerView['state'] =>
  status === 'open' ? state : status === 'complete' ? 'done' : 'failed'

/** As a session, for whatever draws the state of one. */
export const asSession = (worker: WorkerView) =>
  ({ state: shownState(worker), status: 'active', open_children: worker.open_children }) as const

export function workerWord(worker: WorkerView): string {
  if (worker.cause !== null) return causeWord(worker.cause)
  return stateWord(asSession(worker))
}
