/** Changes to a session and its open descendants: the parts of one commit over all of them (contract 6.9). */
import { type Commit, type Link, type LinkedCommit, type RowChange, type SessionRow } from '@cairn/log'
import type { EventDraft } from '@cairn/protocol'
import {
  type ChildEnding,
  type EndContext,
  type ChildOutcome,
  childOutcome,
  reopening,
  notifyParent,
} from './child-end.ts'
import { addUsage, nothingUsed, type Usage } from './child-report.ts'
import type { Deps } from '../deps.ts'
import { type TreeSnapshot, readTree } from './commit-tree.ts'
import { closeItem } from './follow-up.ts'
import { sessionCompleted, sessionPaused, sessionResumed, sessionStopped } from '../events/lifecycle.ts'

/** Events for the session itself, rows for its commit, and the parts of other sessions. */
export type DescendantEffects = {
  events: EventDraft[]
  rows: RowChange[]
  parts: LinkedCommit[]
  /** Usage of the direct children that end with the session. */
  used: Usage
}

/**
 * The outcome of the session itself, if it is a child that has not ended: rows for its commit, and its
 * parent's part.
 */
export async function endOwn(
  deps: Deps,
  { session, link }: TreeSnapshot,
  ending: ChildEnding,
  { used }: Pick<DescendantEffects, 'used'>,
): Promise<{ rows: RowChange[]; also: LinkedCommit[] }> {
  if (link?.status !== 'open') return { rows: [], also: [] }
  const outcome = await childOutcome(deps, session, link, ending, { below: Promise.resolve(used) })
  return { rows: outcome.rows, also: [notifyParent(link, outcome), ...outcome.more] }
}

async function rowsOf({ store }: Deps, links: readonly Link[]): Promise<Map<string, SessionRow>> {
  const rows = await Promise.all(links.map(({ child_id }) => store.getSession(child_id)))
  return new Map(rows.flatMap(row => (row === null ? [] : [[row.id, row]])))
}

async function sumUsage(outcomes: readonly Promise<ChildOutcome>[]): Promise<Usage> {
  const sum = nothingUsed()
  for (const { used } of await Promise.all(outcomes)) addUsage(sum, used)
  return sum
}

/** Ends the open descendants. Each reports to its parent without waking it. */
export async function stopDescendants(
  deps: Deps,
  { session, descendants }: Pick<TreeSnapshot, 'session' | 'descendants'>,
  reason: string,
  set?: Commit['set'],
): Promise<DescendantEffects> {
  const rows = await rowsOf(deps, descendants)
  // Composed concurrently: the shorter this takes, the less has changed by the commit.
  const outcomes = new Map<string, Promise<ChildOutcome>>()
  const usedBelow = (id: string): Promise<Usage> =>
    sumUsage(descendants.flatMap(link => (link.parent_id === id ? (outcomes.get(link.child_id) ?? []) : [])))
  const error = `The worker was stopped through its parent session: ${reason}.`
  for (const link of descendants) {
    const child = rows.get(link.child_id)
    if (child === undefined) continue
    const circumstances = { below: usedBelow(child.id) }
    outcomes.set(
      child.id,
      childOutcome(deps, child, link, { as: 'failed', cause: 'parent', error }, circumstances),
    )
  }
  const [ended, tasks, own, used] = await Promise.all([
    Promise.all(outcomes.values()),
    Promise.all([...outcomes.keys()].map(id => endTasks(deps, id))),
    endTasks(deps, session.id),
    usedBelow(session.id),
  ])
  const eventsOf = new Map<string, EventDraft[]>()
  const parts: LinkedCommit[] = []
  for (const [at, id] of [...outcomes.keys()].entries()) {
    const outcome = ended[at]
    const parent = rows.get(id)?.parent_id ?? session.id
    eventsOf.set(parent, [...(eventsOf.get(parent) ?? []), ...(outcome?.parent_events ?? [])])
    parts.push({
      session_id: id,
      events: [...(eventsOf.get(id) ?? []), sessionStopped('parent'), sessionCompleted('stopped')],
      revoke_lease: true,
      cursor: 'self',
      rows: [...(outcome?.rows ?? []), ...(tasks[at] ?? []), { do: 'inbox.expire_all', decision: 'stopped' }],
      ...(set === undefined ? {} : { set }),
    })
  }
  return { events: eventsOf.get(session.id) ?? [], rows: own, parts, used }
}

/**
 * For a session whose work ends: cancels pending tasks and closes questions about blocked ones. A running
 * task is cancelled with its child.
 */
const endTasks = async ({ store }: Deps, ownerId: string): Promise<RowChange[]> =>
  (await store.coordination.tasks(ownerId)).flatMap((task): RowChange[] => {
    const { task_id, root_id, status } = task
    if (status === 'blocked') return closeItem(task, 'ended')
    return status === 'todo' ? [{ do: 'task.move', task_id, root_id, from: ['todo'], to: 'cancelled' }] : []
  })

/**
 * Rows of the commit that ends a child from above, the report to its parent, and the parts of the child and
 * its subtree.
 */
export type ChildEnd = {
  link: Link
  rows: RowChange[]
  parent_events: EventDraft[]
  parts: LinkedCommit[]
  /** Tasks that depended on it. */
  cancelled: string[]
  /** For the commit of the parent: reopens it if it has ended. */
  reopening: Pick<Commit, 'reopen' | 'reopen_from'>
}

/** Composes the end of a child and its subtree for a commit of its parent; null if it has ended already. */
export async function composeChildEnd(
  deps: Deps,
  childId: string,
  ending: Extract<ChildEnding, { as: 'failed' }>,
  reason: string,
  circumstances: EndContext = {},
): Promise<ChildEnd | null> {
  const { tree, expect } = await readTree(deps, childId)
  const { session, link } = tree
  if (link?.status !== 'open') return null
  const { events, parts, rows, used } = await stopDescendants(deps, tree, reason)
  const outcome = await childOutcome(deps, session, link, ending, {
    ...circumstances,
    below: Promise.resolve(used),
  })
  const own: LinkedCommit = {
    session_id: childId,
    events: [...events, sessionStopped(reason), sessionCompleted('stopped')],
    revoke_lease: true,
    cursor: 'self',
    rows: [...rows, ...outcome.rows, { do: 'inbox.expire_all', decision: 'stopped' }],
  }
  const { cancelled, more, parent_rows } = outcome
  return {
    link,
    rows: [expect, ...parent_rows],
    parent_events: outcome.parent_events,
    parts: [...parts, own, ...more],
    cancelled,
    reopening: reopening(outcome),
  }
}

export async function pauseDescendants(deps: Deps, { descendants }: TreeSnapshot): Promise<LinkedCommit[]> {
  const rows = await rowsOf(deps, descendants)
  return descendants
    .filter(({ child_id }) => rows.get(child_id)?.status === 'active')
    .map(({ child_id, root_id }) => ({
      session_id: child_id,
      events: [sessionPaused('parent_paused')],
      expect_status: ['active'],
      revoke_lease: true,
      rows: [{ do: 'link.mark', child_id, root_id, paused_by_parent: true }],
    }))
}

/**
 * Resumes the descendants that were paused from above. One that was paused by itself stays paused, with its
 * subtree.
 */
export async function resumeDescendants(
  deps: Deps,
  { session, descendants }: TreeSnapshot,
): Promise<LinkedCommit[]> {
  const rows = await rowsOf(deps, descendants)
  const going = new Set([session.id])
  const parts: LinkedCommit[] = []
  for (const { child_id, root_id, parent_id, paused_by_parent } of descendants.toReversed()) {
    if (!going.has(parent_id)) continue
    const isPaused = rows.get(child_id)?.status === 'paused'
    if (isPaused && !paused_by_parent) continue
    going.add(child_id)
    if (!isPaused) continue
    parts.push({
      session_id: child_id,
      events: [sessionResumed('parent')],
      expect_status: ['paused'],
      rows: [{ do: 'link.mark', child_id, root_id, paused_by_parent: false }],
    })
  }
  return parts
}

/** All descendants, including those that have ended. */
export async function archiveDescendants(deps: Deps, tree: TreeSnapshot): Promise<DescendantEffects> {
  const stop = await stopDescendants(deps, tree, 'archived', { status: 'archived' })
  const ended = new Set(stop.parts.map(part => part.session_id))
  const rest = (await descendantsOf(deps, tree.session)).filter(({ id }) => !ended.has(id))
  const parts = rest.map(({ id, status }): LinkedCommit => ({
    session_id: id,
    events: status === 'active' ? [sessionStopped('archived')] : [],
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
