/**
 * The end of a session and of everything below it, as one commit (contract 6.9, 14.4). A stop, an archive, a
 * time limit, a cancelled task and the end of a worker's turn are all composed here, in four steps:
 *
 *   1. Read the open descendants: their rows, reports, tasks and coding runs.
 *   2. Decide each of them, deepest first: its outcome for its parent, its tasks, its run, its inbox items.
 *   3. Decide the session itself: its outcome, if it is a child, and its coding run.
 *   4. Follow up at its parent, if it is a child: the next task, or the next run of the schedule.
 *
 * commit-tree.ts reads the tree before the first step, commits after the last one, and starts again if the
 * tree has changed in between. What a stop and an archive mean for a mission is in ../lifecycle/.
 */
import type { Commit, Link, LinkedCommit, RowChange, SessionRow, Task, TaskState } from '@cairn/log'
import type { EventDraft } from '@cairn/protocol'
import { type EndedRun, stopRun } from '../code/runs.ts'
import type { Deps } from '../deps.ts'
import { sessionCompleted, sessionResumed, sessionStopped } from '../events/lifecycle.ts'
import {
  type ChildEnding,
  type ChildOutcome,
  type EndedChild,
  runOutcome,
  workerOutcome,
} from './child-outcome.ts'
import { addUsage, type ChildReport, MAX_FILES, noUsage, reportOf, type Usage } from './child-report.ts'
import { readTree, type TreeSnapshot } from './commit-tree.ts'
import {
  cancelPending,
  type FollowUp,
  followUpSchedule,
  followUpWorker,
  noFollowUp,
  readScheduleOf,
} from './follow-up.ts'

/** The effects of ending the descendants of a session. */
export type EndedDescendants = {
  /** For the session's own log: the outcomes of its children. */
  events: readonly EventDraft[]
  /** For the session's own part: its pending tasks are cancelled. */
  rows: RowChange[]
  parts: LinkedCommit[]
  /** Usage of the direct children that end with the session. */
  used: Usage
}

/** The effects of ending a child on its own part of the commit, on its parent and on other sessions. */
export type ChildEnd = ChildOutcome & Omit<FollowUp, 'will_retry'> & { link: Link }

export type EndedTree = Omit<EndedDescendants, 'used'> & {
  run: EndedRun
  /** Null if the session is not an open child. */
  child: ChildEnd | null
}

/** Set if others end in the same commit, or the decider is known. */
export type EndContext = {
  /** The caller follows up at the parent. */
  follow?: false
  decided_by?: TaskState['decided_by']
  /** Files that it wrote, if known better than from its tool calls. */
  written?: readonly string[] | null
}

/** How a tree ends. `ending` is that of the session itself, if it is an open child. */
export type TreeEnding = EndContext & {
  ending: Extract<ChildEnding, { as: 'failed' }>
  reason: string
  /** Changes to the rows of the descendants. */
  set?: Commit['set']
}

export async function endTree(
  deps: Deps,
  tree: TreeSnapshot,
  { ending, reason, set, ...context }: TreeEnding,
): Promise<EndedTree> {
  const { session, link } = tree
  const child = link?.status === 'open' ? link : null
  // Read concurrently: the shorter this takes, the less has changed by the commit.
  const [{ used, ...below }, report, run] = await Promise.all([
    endDescendants(deps, tree, reason, set),
    child === null ? null : reportOf(deps.store, session, child, deps.now()),
    stopRun(deps, session),
  ])
  if (child === null || report === null) return { ...below, run, child: null }
  addUsage(report, used)
  return { ...below, run, child: await endChild(deps, { session, link: child, report, ending }, context) }
}

/** Steps 1 and 2. Each descendant reports to its parent without waking it. */
export async function endDescendants(
  deps: Deps,
  { session, descendants }: Pick<TreeSnapshot, 'session' | 'descendants'>,
  reason: string,
  set?: Commit['set'],
): Promise<EndedDescendants> {
  const [tasks, found] = await Promise.all([
    deps.store.tasks.list(session.id),
    Promise.all(descendants.map(link => readDescendant(deps, link))),
  ])
  const decided = decideDescendants(
    session.id,
    found.filter(each => each !== null),
    `The worker was stopped through its parent session: ${reason}.`,
    set,
  )
  return { ...decided, rows: cancelPending(tasks) }
}

type Descendant = {
  session: SessionRow
  link: Link
  report: ChildReport
  tasks: readonly Task[]
  run: EndedRun
}

/** The row is read first: its counters guard that the report, read after it, is complete. */
async function readDescendant(deps: Deps, link: Link): Promise<Descendant | null> {
  const session = await deps.store.sessions.get(link.child_id)
  if (session === null) return null
  const [report, tasks, run] = await Promise.all([
    reportOf(deps.store, session, link, deps.now()),
    deps.store.tasks.list(session.id),
    stopRun(deps, session),
  ])
  return { session, link, report, tasks, run }
}

/** `descendants` are ordered deepest first, so each is decided after its own children. */
function decideDescendants(
  top: string,
  descendants: readonly Descendant[],
  error: string,
  set?: Commit['set'],
): Omit<EndedDescendants, 'rows'> {
  const ended = new Map<string, { events: EventDraft[]; used: Usage }>()
  const childrenOf = (id: string): { events: EventDraft[]; used: Usage } => {
    const known = ended.get(id) ?? { events: [], used: noUsage() }
    ended.set(id, known)
    return known
  }
  const parts = descendants.map(({ session, link, report, tasks, run }): LinkedCommit => {
    const { events, used } = childrenOf(session.id)
    addUsage(report, used)
    const ending = { as: 'failed', cause: 'parent', error } as const
    const outcome = workerOutcome({ session, link, report, ending }, noFollowUp())
    const siblings = childrenOf(link.parent_id)
    siblings.events.push(...outcome.parent_events)
    addUsage(siblings.used, outcome.used)
    return {
      session_id: session.id,
      events: [...events, sessionStopped('parent'), ...run.events, sessionCompleted('stopped')],
      revoke_lease: true,
      cursor: 'self',
      rows: [...run.rows, ...outcome.rows, ...cancelPending(tasks), expireAll('stopped')],
      ...(set === undefined ? {} : { set }),
    }
  })
  return { ...childrenOf(top), parts }
}

/** Steps 3 and 4. Every commit that ends a child includes this, so that its parent gets its outcome once. */
export async function endChild(
  deps: Deps,
  child: EndedChild,
  { follow, decided_by, written = null }: EndContext = {},
): Promise<ChildEnd> {
  const { session, link, report } = child
  if (written !== null) report.files_written = written.slice(0, MAX_FILES)
  const schedule = link.kind === 'run' ? await readScheduleOf(deps, session) : null
  const next =
    follow === false
      ? noFollowUp()
      : await (link.kind === 'run'
          ? followUpSchedule(deps, child, schedule)
          : followUpWorker(deps, child, decided_by))
  const outcome = link.kind === 'run' ? runOutcome(child, schedule, deps.now()) : workerOutcome(child, next)
  return {
    ...next,
    ...outcome,
    link,
    rows: [...outcome.rows, ...next.rows],
    parent_events: [...outcome.parent_events, ...next.parent_events],
  }
}

/** Expires the open inbox items of a session that ends. */
export const expireAll = (decision: string): RowChange => ({ do: 'inbox.expire_all', decision })

/**
 * Expires the questions and actions of a stopped turn: an answer must not continue that turn, and the next
 * text is a message. Approvals stay open, because each is a decision about one call, independent of the turn.
 */
export const expireWaiting: RowChange = { do: 'inbox.expire_waiting', decision: 'stopped' }

/**
 * The session's own part of the commit, with the parts of the others in `also`. `stopped` are the events of
 * the stop itself, after the outcomes of its children and before the end of its coding run.
 */
export function ownPart(
  { events, rows, parts, run, child }: EndedTree,
  stopped: readonly EventDraft[],
  inbox: readonly RowChange[],
): Required<Pick<Commit, 'events' | 'rows' | 'also'>> {
  return {
    events: [...events, ...stopped, ...run.events, ...(child === null ? [] : [sessionCompleted('stopped')])],
    rows: [...run.rows, ...rows, ...(child?.rows ?? []), ...inbox],
    also: [...parts, ...(child === null ? [] : [notifyParent(child), ...child.more])],
  }
}

/** The outcome as the parent's part of the commit; reopens a parent that has ended. */
export const notifyParent = ({
  link,
  parent_events,
  parent_rows,
  parent_status,
  ...outcome
}: ChildEnd): LinkedCommit => ({
  session_id: link.parent_id,
  events: parent_events,
  ...(parent_rows.length === 0 ? {} : { rows: parent_rows }),
  ...(parent_status === undefined ? {} : { expect_status: [parent_status] }),
  ...reopening(outcome),
})

/** Reopens a parent that has ended, if the outcome wakes it. */
const reopening = ({
  wakes,
  reopens,
}: Pick<ChildOutcome, 'wakes' | 'reopens'>): Pick<LinkedCommit, 'reopen' | 'reopen_from'> =>
  wakes ? { reopen: sessionResumed(reopens), reopen_from: ['completed'] } : {}

/** The end of a child as parts of a commit of its parent. */
export type ComposedChildEnd = {
  link: Link
  rows: RowChange[]
  parent_events: EventDraft[]
  parts: LinkedCommit[]
  /** Tasks that depended on it. */
  cancelled: string[]
  /** Reopens the parent if it has ended. */
  reopening: Pick<Commit, 'reopen' | 'reopen_from'>
}

/** Composes the end of a child and its subtree for a commit of its parent; null if it has ended already. */
export async function composeChildEnd(
  deps: Deps,
  childId: string,
  ending: TreeEnding['ending'],
  reason: string,
  context: EndContext = {},
): Promise<ComposedChildEnd | null> {
  const { tree, expect } = await readTree(deps, childId)
  if (tree.link?.status !== 'open') return null
  const ended = await endTree(deps, tree, { ending, reason, ...context })
  const { child, parts } = ended
  if (child === null) return null
  const { events, rows } = ownPart(ended, [sessionStopped(reason)], [expireAll('stopped')])
  const own: LinkedCommit = { session_id: childId, events, revoke_lease: true, cursor: 'self', rows }
  return {
    link: child.link,
    rows: [expect, ...child.parent_rows],
    parent_events: child.parent_events,
    parts: [...parts, own, ...child.more],
    cancelled: child.cancelled,
    reopening: reopening(child),
  }
}
