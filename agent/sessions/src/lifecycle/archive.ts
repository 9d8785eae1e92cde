/**
 * Archiving (contract 6) of a session and its subtree, after its schedules and their runs, which are trees of
 * their own and may be many.
 */
import type { Commit, SessionRow } from '@cairn/log'
import { archiveDescendants, endOwn } from '../tree/cascade.ts'
import type { Deps } from '../deps.ts'
import { sessionCompleted, sessionStopped } from '../events/lifecycle.ts'
import { type TreeSnapshot, commitTree } from '../tree/commit-tree.ts'
import { endSchedules } from '../schedule-commands/commands.ts'
import { cancelledWithSession } from '../missions/commands.ts'

/** Runs archived concurrently: each is a commit, and the store batches several. */
const RUNS_AT_ONCE = 50

/**
 * Archives the session and its descendants and expires their inbox items; archiving twice changes nothing. A
 * running turn gets session.stopped; an idle session is archived without an event. Its schedules and their
 * runs are archived first, each in its own commit: if the process dies in between, the session is not
 * archived yet, and archiving it again continues.
 */
export async function archiveSession(deps: Deps, archived: SessionRow): Promise<void> {
  const { id, parent_id } = archived
  if (parent_id === null) {
    await endSchedules(deps, archived)
    await archiveRuns(deps, archived)
  }
  await commitTree(deps, 'archive', id, async tree =>
    tree.session.status === 'archived' ? null : composeArchive(deps, tree),
  )
}

/** The commit for a session that is not archived. */
export async function composeArchive(deps: Deps, tree: TreeSnapshot): Promise<Commit> {
  const { session, link } = tree
  const below = await archiveDescendants(deps, tree)
  const { events, parts, rows } = below
  const mission = link === null ? await deps.store.coordination.missionOf(session.id) : null
  const end = mission === null ? null : cancelledWithSession(mission)
  const isChild = link?.status === 'open'
  const error = 'The worker was archived.'
  const own = await endOwn(deps, tree, { as: 'failed', cause: 'archived', error }, below)
  return {
    session_id: session.id,
    events: [
      ...events,
      ...(end?.events ?? []),
      ...(session.status === 'active' || isChild ? [sessionStopped('archived')] : []),
      ...(isChild ? [sessionCompleted('stopped')] : []),
    ],
    expect_status: [session.status],
    revoke_lease: true,
    cursor: 'self',
    set: { status: 'archived' },
    // Its open inbox items expire.
    rows: [...rows, ...(end?.rows ?? []), ...own.rows, { do: 'inbox.expire_all', decision: 'archived' }],
    also: [...parts, ...own.also],
  }
}

/** Active runs are stopped, and their results reported. */
async function archiveRuns(deps: Deps, { id, org_id }: SessionRow): Promise<void> {
  const runs = { org_id, parent_id: id, channel: ['scheduled'], limit: RUNS_AT_ONCE }
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await deps.store.listSessions(cursor === undefined ? runs : { ...runs, cursor })
    await Promise.all(page.sessions.map(run => archiveSession(deps, run)))
    cursor = page.next_cursor
  }
}
