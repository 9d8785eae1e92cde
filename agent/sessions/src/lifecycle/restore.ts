/** Restores an archived session (contract 6.10). */
import type { SessionRow } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import type { Deps } from '../deps.ts'
import { sessionResumed } from '../events/lifecycle.ts'
import { commitFor } from '../refusals.ts'

/**
 * The session is idle afterwards. Sessions archived with it stay archived, and its workspace may be gone.
 * Roots only: a worker's end was already reported to its parent.
 */
export async function restoreSession({ store }: Deps, { id, parent_id }: SessionRow): Promise<SessionRow> {
  if (parent_id !== null)
    throw new AppError('wrong_state', 'A worker cannot be restored: its parent already recorded its end.')
  const { session } = await commitFor(store, 'restore', {
    session_id: id,
    events: [sessionResumed('restore')],
    expect_status: ['archived'],
    cursor: 'self',
    set: { status: 'active' },
  })
  return session
}
