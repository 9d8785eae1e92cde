/**
 * Archiving (contract 6) of a session and its subtree, after its schedules and their runs, which are trees of
 * their own and may be many.
 */
import type { Commit, SessionRow } from '@cairn/log'
import { archiveBelow, endOwn } from './cascade.ts'
import type { Deps } from './deps.ts'
import { completed, stopped } from './lifecycle-events.ts'
import { type Around, commitOverTree } from './over-tree.ts'
import { endSchedules } from './schedule-commands/commands.ts'
import { cancelledWithSession } from './steer-mission.ts'

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
  await commitOverTree(deps, 'archive', id, async around =>
    around.session.status === 'archived' ? null : composeArchive(deps, around),
  )
}

/** The commit for a session that is not archived. */
export async function composeArchive(deps: Deps, around: Around): Promise<Commit> {
  const { session, link } = around
  const below = await archiveBelow(deps, around)
  const { told, parts, rows } = below
  const mission = link === null ? await deps.store.coordination.missionOf(session.id) : null
  const end = mission === null ? null : cancelledWithSession(mission)
  const isChild = link?.status === 'open'
  const error = 'The worker was archived.'
  const own = await endOwn(deps, around, { as: 'failed', cause: 'archived', error }, below)
  return {
    session_id: session.id,
    events: [
      ...told,
      ...(end?.events ?? []),
      ...(session.status === 'active' || isChild ? [stopped('archived')] : []),
      ...(isChild ? [completed('stopped')] : []),
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
