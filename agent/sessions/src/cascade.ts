/**
 * Commits over a session and its open descendants, all or nothing (contract 6.8): they are read, one
 * commit is composed for all of them, and it is composed again if the tree has changed in between.
 */
import {
  type Commit,
  type Committed,
  CommitRefused,
  type Link,
  type LinkedCommit,
  type RowChange,
  type SessionRow,
} from '@cairn/log'
import { AppError, type EventDraft } from '@cairn/protocol'
import { type ChildEnding, type Circumstances, outcomeOf, reopening, tellParent } from './child-end.ts'
import type { Deps } from './deps.ts'
import { closeItem } from './follow-up.ts'
import { completed, paused, resumed, stopped } from './lifecycle-events.ts'
import { refusedAs } from './refusals.ts'

/** A session as it was read, with what ties it to its parent and the open links below it, deepest first. */
export type Around = { session: SessionRow; link: Link | null; below: readonly Link[] }
/** What is to be told to the session itself, rows for its commit, and the parts of others. */
export type Below = { told: EventDraft[]; rows: RowChange[]; parts: LinkedCommit[] }

const TRIES = 10

/**
 * `compose` is asked again as long as others change the tree between its look and its commit; null: there is
 * nothing to do.
 */
export async function commitOverTree(
  deps: Deps,
  operation: string,
  sessionId: string,
  compose: (around: Around) => Promise<Commit | null>,
): Promise<Committed | null> {
  for (let tries = 1; ; tries++) {
    const { around, expect } = await lookAround(deps, sessionId)
    const commit = await compose(around)
    if (commit === null) return null
    try {
      return await deps.store.commit({ ...commit, rows: [expect, ...(commit.rows ?? [])] })
    } catch (thrown) {
      if (!(thrown instanceof CommitRefused)) throw thrown
      if (tries >= TRIES || !isMoved(thrown, around)) throw refusedAs(operation, sessionId, thrown)
    }
  }
}

/** Whether another look may lead to another commit. */
export function isMoved({ refusal, session }: CommitRefused, around: Around): boolean {
  if (refusal !== 'wrong_status') return isTreeMoved(refusal)
  return session !== null && (session.id !== around.session.id || session.status !== around.session.status)
}

/** What was read of the tree, of its links, tasks, missions or schedules is not so any more. */
export const isTreeMoved = (refusal: CommitRefused['refusal']): boolean => MOVED.includes(refusal)
const MOVED: readonly string[] = [
  'tree_moved',
  'already_settled',
  'task_moved',
  'mission_moved',
  'schedule_moved',
]

export async function lookAround(
  { store }: Deps,
  sessionId: string,
): Promise<{ around: Around; expect: RowChange }> {
  const session = await store.getSession(sessionId)
  if (session === null) throw new AppError('not_found', `There is no session ${sessionId}.`)
  const link = session.parent_id === null ? null : await store.coordination.link(sessionId)
  const root_id = link?.root_id ?? sessionId
  const { version, open } = await store.coordination.tree(root_id)
  return {
    around: { session, link, below: openBelow(open, sessionId) },
    expect: { do: 'tree.expect', root_id, version },
  }
}

/** Deepest first. */
function openBelow(open: readonly Link[], top: string): Link[] {
  const under = new Set([top])
  const found: Link[] = []
  for (const link of open.toSorted((a, b) => a.depth - b.depth)) {
    if (!under.has(link.parent_id)) continue
    under.add(link.child_id)
    found.unshift(link)
  }
  return found
}

/** The session's own outcome, where it is a child that has not ended: rows for its commit, and its parent's part. */
export async function endOwn(
  deps: Deps,
  { session, link }: Around,
  ending: ChildEnding,
): Promise<{ rows: RowChange[]; also: LinkedCommit[] }> {
  if (link?.status !== 'open') return { rows: [], also: [] }
  const outcome = await outcomeOf(deps, session, link, ending)
  return { rows: outcome.rows, also: [tellParent(link, outcome), ...outcome.more] }
}

async function rowsOf({ store }: Deps, links: readonly Link[]): Promise<Map<string, SessionRow>> {
  const rows = await Promise.all(links.map(({ child_id }) => store.getSession(child_id)))
  return new Map(rows.flatMap(row => (row === null ? [] : [[row.id, row]])))
}

/** Ends the open descendants: each tells its parent, and nobody is woken by it. */
export async function stopBelow(
  deps: Deps,
  { session, below }: Pick<Around, 'session' | 'below'>,
  reason: string,
  set?: Commit['set'],
): Promise<Below> {
  const rows = await rowsOf(deps, below)
  const told = new Map<string, EventDraft[]>()
  const parts: LinkedCommit[] = []
  for (const link of below) {
    const child = rows.get(link.child_id)
    if (child === undefined) continue
    const error = `The session above was ${reason}.`
    const outcome = await outcomeOf(deps, child, link, { as: 'failed', cause: 'parent', error })
    told.set(link.parent_id, [...(told.get(link.parent_id) ?? []), ...outcome.told])
    parts.push({
      session_id: child.id,
      events: [...(told.get(child.id) ?? []), stopped('parent'), completed('stopped')],
      revoke_lease: true,
      cursor: 'self',
      rows: [
        ...outcome.rows,
        ...(await endTasks(deps, child.id)),
        { do: 'inbox.expire_all', decision: 'stopped' },
      ],
      ...(set === undefined ? {} : { set }),
    })
  }
  return { told: told.get(session.id) ?? [], rows: await endTasks(deps, session.id), parts }
}

/**
 * Of a session whose work is ended: what waits for other tasks is cancelled, and nobody is asked about blocks
 * any more. A task at work is cancelled with its child.
 */
const endTasks = async ({ store }: Deps, ownerId: string): Promise<RowChange[]> =>
  (await store.coordination.tasks(ownerId)).flatMap((task): RowChange[] => {
    const { task_id, root_id, status } = task
    if (status === 'blocked') return closeItem(task, 'ended')
    return status === 'todo' ? [{ do: 'task.move', task_id, root_id, from: ['todo'], to: 'cancelled' }] : []
  })

/** Rows of the commit that ends a child from above, what it tells the parent, and the parts below and of the child. */
export type EndOfChild = {
  link: Link
  rows: RowChange[]
  told: EventDraft[]
  parts: LinkedCommit[]
  /** Tasks that were to come after it. */
  cancelled: string[]
  /** For the commit of the parent: whether that goes on. */
  reopening: Pick<Commit, 'reopen' | 'reopen_from'>
}

/** The end of a child and of all below it, composed for a commit of its parent; null where it has ended. */
export async function endOf(
  deps: Deps,
  childId: string,
  ending: Extract<ChildEnding, { as: 'failed' }>,
  reason: string,
  circumstances: Circumstances = {},
): Promise<EndOfChild | null> {
  const { around, expect } = await lookAround(deps, childId)
  const { session, link } = around
  if (link?.status !== 'open') return null
  const { told, parts, rows } = await stopBelow(deps, around, reason)
  const outcome = await outcomeOf(deps, session, link, ending, circumstances)
  const own: LinkedCommit = {
    session_id: childId,
    events: [...told, stopped(reason), completed('stopped')],
    revoke_lease: true,
    cursor: 'self',
    rows: [...rows, ...outcome.rows, { do: 'inbox.expire_all', decision: 'stopped' }],
  }
  const { cancelled, more, parent_rows } = outcome
  return {
    link,
    rows: [expect, ...parent_rows],
    told: outcome.told,
    parts: [...parts, own, ...more],
    cancelled,
    reopening: reopening(outcome),
  }
}

export async function pauseBelow(deps: Deps, { below }: Around): Promise<LinkedCommit[]> {
  const rows = await rowsOf(deps, below)
  return below
    .filter(({ child_id }) => rows.get(child_id)?.status === 'active')
    .map(({ child_id }) => ({
      session_id: child_id,
      events: [paused('parent_paused')],
      expect_status: ['active'],
      revoke_lease: true,
      rows: [{ do: 'link.mark', child_id, paused_by_parent: true }],
    }))
}

/** Those that a pause from above had paused go on; what was paused by itself stays so. */
export async function resumeBelow(deps: Deps, { below }: Around): Promise<LinkedCommit[]> {
  const marked = below.filter(link => link.paused_by_parent)
  const rows = await rowsOf(deps, marked)
  return marked
    .filter(({ child_id }) => rows.get(child_id)?.status === 'paused')
    .map(({ child_id }) => ({
      session_id: child_id,
      events: [resumed('parent')],
      expect_status: ['paused'],
      rows: [{ do: 'link.mark', child_id, paused_by_parent: false }],
    }))
}

/** All descendants, those too that ended long ago. */
export async function archiveBelow(deps: Deps, around: Around): Promise<Below> {
  const stop = await stopBelow(deps, around, 'archived', { status: 'archived' })
  const ended = new Set(stop.parts.map(part => part.session_id))
  const rest = (await descendantsOf(deps, around.session)).filter(({ id }) => !ended.has(id))
  const parts = rest.map(({ id, status }): LinkedCommit => ({
    session_id: id,
    events: status === 'active' ? [stopped('archived')] : [],
    expect_status: [status],
    revoke_lease: true,
    cursor: 'self',
    set: { status: 'archived' },
    rows: [{ do: 'inbox.expire_all', decision: 'archived' }],
  }))
  return { ...stop, parts: [...stop.parts, ...parts] }
}

async function descendantsOf({ store }: Pick<Deps, 'store'>, parent: SessionRow): Promise<SessionRow[]> {
  const found: SessionRow[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const of = { org_id: parent.org_id, parent_id: parent.id, limit: 100 }
    const page = await store.listSessions(cursor === undefined ? of : { ...of, cursor })
    found.push(...page.sessions)
    cursor = page.next_cursor
  }
  const below = await Promise.all(found.map(child => descendantsOf({ store }, child)))
  return [...found, ...below.flat()]
}
