/** Titles of sessions, given by a person or found by the harness. The writer of session.title_updated. */
import type { Commit, SessionRow } from '@cairn/log'
import { clip, writer } from '@cairn/protocol'
import type { Deps } from './deps.ts'
import { commitFor } from './refusals.ts'

const write = writer('titles')
const TITLE_MAX = 256

/**
 * The commit that gives a session its title, for renaming and for the harness alike. A provisional one stands
 * in until a model has found another.
 */
export function titleCommit(sessionId: string, text: string, provisional = false): Commit {
  const title = clip(text, TITLE_MAX)
  return {
    session_id: sessionId,
    events: [write('session.title_updated', { title, ...(provisional ? { provisional } : {}) })],
    expect_status: ['active', 'paused', 'completed', 'failed'],
  }
}

export async function renameSession({ store }: Deps, sessionId: string, title: string): Promise<SessionRow> {
  return (await commitFor(store, 'rename', titleCommit(sessionId, title))).session
}
