/**
 * Commits over a session and its open descendants, all or nothing (contract 6.9): the tree is read, one
 * commit is composed for all of it, and composed again if the tree has changed in between.
 */
import {
  type Commit,
  type Committed,
  CommitRefused,
  type Link,
  type RowChange,
  type SessionRow,
} from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { withRuns } from './code.ts'
import type { Deps } from './deps.ts'
import { refusedAs } from './refusals.ts'

/** A session as it was read, with the link to its parent and the open links below it, deepest first. */
export type Around = { session: SessionRow; link: Link | null; below: readonly Link[] }
const TRIES = 20

/**
 * Calls `compose` again while others change the tree between the read and the commit. It returns null if
 * there is nothing to do.
 */
export async function commitOverTree(
  deps: Deps,
  operation: string,
  sessionId: string,
  compose: (around: Around) => Promise<Commit | null>,
): Promise<Committed | null> {
  for (let tries = 1; ; tries++) {
    const { around, expect } = await lookAround(deps, sessionId)
    const composed = await compose(around)
    if (composed === null) return null
    const commit = await withRuns(deps, composed)
    try {
      return await deps.store.commit({ ...commit, rows: [expect, ...(commit.rows ?? [])] })
    } catch (thrown) {
      if (!(thrown instanceof CommitRefused)) throw thrown
      if (tries >= TRIES || !isMoved(thrown, around)) throw refusedAs(operation, sessionId, thrown)
      if (isBusy(thrown, around, tries)) await takeLeases(deps, [sessionId, ...idsOf(around)])
    }
  }
}

/**
 * In a busy tree some session always writes while a commit over all of them is composed. After some tries
 * their leases are revoked: a runner that claims one of them must repeat a model call, which takes longer
 * than another attempt here.
 */
export const isBusy = ({ refusal, session }: CommitRefused, around: Around, tries: number): boolean =>
  tries >= BUSY_TRIES || (refusal === 'tree_moved' && session?.id !== around.session.id)
const BUSY_TRIES = 3

export const idsOf = ({ below }: Around): string[] => below.map(({ child_id }) => child_id)

export async function takeLeases({ store }: Deps, [first, ...others]: readonly string[]): Promise<void> {
  if (first === undefined) return
  const taken = (session_id: string) => ({ session_id, events: [], revoke_lease: true }) as const
  await store.commit({ ...taken(first), also: others.map(taken) })
}

/** True if another attempt may succeed. */
export function isMoved({ refusal, session }: CommitRefused, around: Around): boolean {
  if (refusal !== 'wrong_status') return isTreeMoved(refusal)
  return session !== null && (session.id !== around.session.id || session.status !== around.session.status)
}

/** The tree, its links, tasks, missions or schedules have changed since they were read. */
export const isTreeMoved = (refusal: CommitRefused['refusal']): boolean => MOVED.includes(refusal)
const MOVED: readonly string[] = [
  'tree_moved',
  'already_settled',
  'task_moved',
  'mission_moved',
  'schedule_moved',
  'code_run_ended',
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
