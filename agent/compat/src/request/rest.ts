/** Whether a session has nothing left to do. */
import type { CompatDeps } from '../deps.ts'

/** Nothing runs although the log has no end: a decision that no turn follows, such as one of a coding run. */
export async function isAtRest({ store }: Pick<CompatDeps, 'store'>, session_id: string): Promise<boolean> {
  const state = (await store.sessions.get(session_id))?.state
  return state === 'idle' || state === 'done' || state === 'failed'
}
