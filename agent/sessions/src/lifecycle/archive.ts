/**
 * Archiving (contract 6) of a session and its subtree, after its schedules and their runs, which are trees of
 * their own and may be many; and the restore of an archived session.
 */
import type { Commit, LinkedCommit, SessionRow } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { stopRun } from '../code/runs.ts'
import type { Deps } from '../deps.ts'
import { sessionResumed, sessionStopped } from '../events/lifecycle.ts'
import { cancelledWithSession } from '../missions/commands.ts'
import { commitFor } from '../refusals.ts'
import { endSchedules } from '../schedule-commands/commands.ts'
import { commitTree, descendantIds, type TreeSnapshot } from '../tree/commit-tree.ts'
import { endTree, expireAll, ownPart } from '../tree/end-tree.ts'

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

/** Active runs are stopped, and their results reported. */
async function archiveRuns(deps: Deps, { id, org_id }: SessionRow): Promise<void> {
  const runs = { org_id, parent_id: id, channel: ['scheduled'], limit: RUNS_AT_ONCE }
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await deps.store.sessions.list(cursor === undefined ? runs : { ...runs, cursor })
    await Promise.all(page.sessions.map(run => archiveSession(deps, run)))
    cursor = page.next_cursor
  }
}

/** The commit for a session that is not archived. */
export async function composeArchive(deps: Deps, tree: TreeSnapshot): Promise<Commit> {
  const { session, link } = tree
  const error = 'The worker was archived.'
  const [ended, closed, mission] = await Promise.all([
    endTree(deps, tree, {
      ending: { as: 'failed', cause: 'archived', error },
      reason: 'archived',
      set: { status: 'archived' },
    }),
    archiveClosed(deps, tree),
    link === null ? deps.store.missions.current(session.id) : null,
  ])
  const cancelled = mission === null ? null : cancelledWithSession(mission)
  const isStopped = session.status === 'active' || ended.child !== null
  const { events, rows, also } = ownPart(
    { ...ended, parts: [...ended.parts, ...closed] },
    [...(cancelled?.events ?? []), ...(isStopped ? [sessionStopped('archived')] : [])],
    [...(cancelled?.rows ?? []), expireAll('archived')],
  )
  return {
    session_id: session.id,
    events,
    expect_status: [session.status],
    revoke_lease: true,
    cursor: 'self',
    set: { status: 'archived' },
    rows,
    also,
  }
}

/** The descendants whose work has ended before. */
async function archiveClosed(deps: Deps, tree: TreeSnapshot): Promise<LinkedCommit[]> {
  const open = new Set(descendantIds(tree))
  const closed = (await listDescendants(deps, tree.session)).filter(({ id }) => !open.has(id))
  return Promise.all(
    closed.map(async (session): Promise<LinkedCommit> => {
      const { id, status } = session
      const run = await stopRun(deps, session)
      return {
        session_id: id,
        events: [...(status === 'active' ? [sessionStopped('archived')] : []), ...run.events],
        expect_status: [status],
        revoke_lease: true,
        cursor: 'self',
        set: { status: 'archived' },
        rows: [...run.rows, expireAll('archived')],
      }
    }),
  )
}

async function listDescendants({ store }: Pick<Deps, 'store'>, parent: SessionRow): Promise<SessionRow[]> {
  const found: SessionRow[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const children = { org_id: parent.org_id, parent_id: parent.id, limit: 100 }
    const page = await store.sessions.list(cursor === undefined ? children : { ...children, cursor })
    found.push(...page.sessions)
    cursor = page.next_cursor
  }
  const below = await Promise.all(found.map(child => listDescendants({ store }, child)))
  return [...found, ...below.flat()]
}

/**
 * Restores an archived session (contract 6.10), which is idle afterwards. Sessions archived with it stay
 * archived, and its workspace may be gone. Roots only: a worker's end was already reported to its parent.
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
