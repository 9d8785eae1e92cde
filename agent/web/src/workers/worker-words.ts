/** Labels of a worker's state. */
import type { WorkerView } from '@cairn/protocol'
import { stateWord } from '../sessions/session-state.tsx'
import { workersWords } from '../words/workers.ts'

type Cause = NonNullable<WorkerView['cause']>
const CAUSES: Record<Cause, string> = workersWords.causes
export const causeWord = (cause: Cause): string => CAUSES[cause]

/** The state of the worker's dot. An ended worker is done or failed, whatever its session did since. */
const shownState = ({ status, state }: WorkerView): WorkerView['state'] =>
  status === 'open' ? state : status === 'complete' ? 'done' : 'failed'

/** The worker as a session, for components that show a session's state. */
export const asSession = (worker: WorkerView) =>
  ({ state: shownState(worker), status: 'active', open_children: worker.open_children }) as const

export function workerWord(worker: WorkerView): string {
  if (worker.cause !== null) return causeWord(worker.cause)
  return stateWord(asSession(worker))
}
