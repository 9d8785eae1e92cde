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
import type { Deps } from '../deps.ts'
import { refusedAs } from '../refusals.ts'

/** A session as it was read, with the link to its parent and the open links below it, deepest first. */
export type TreeSnapshot = { session: SessionRow; link: Link | null; descendants: readonly Link[] }
/** How often a commit over a tree is composed. */
export const MAX_ATTEMPTS = 20

/** True if the session's last turn has ended. Its descendants may still be open. */
export const hasEnded = ({ status }: SessionRow): boolean => status === 'completed' || status === 'failed'

/**
 * Calls `compose` again while others change the tree between the read and the commit. It returns null if
 * there is nothing to do.
 */
export async function commitTree(
  deps: Deps,
  operation: string,
  sessionId: string,
  compose: (tree: TreeSnapshot) => Promise<Commit | null>,
): Promise<Committed | null> {
  for (let attempt = 1; ; attempt++) {
    const { tree, expect } = await readTree(deps, sessionId)
    const commit = await compose(tree)
    if (commit === null) return null
    try {
      return await deps.store.commit({ ...commit, rows: [expect, ...(commit.rows ?? [])] })
    } catch (error) {
      if (!(error instanceof CommitRefused)) throw error
      if (attempt >= MAX_ATTEMPTS || !isMoved(error, tree)) throw refusedAs(operation, sessionId, error)
      if (isBusy(error, tree, attempt)) await revokeLeases(deps, [sessionId, ...descendantIds(tree)])
    }
  }
}

/**
 * In a busy tree some session always writes while a commit over all of them is composed. After some tries
 * their leases are revoked: a runner that claims one of them must repeat a model call, which takes longer
 * than another attempt here.
 */
export const isBusy = ({ refusal, session }: CommitRefused, tree: TreeSnapshot, attempt: number): boolean =>
  attempt >= BUSY_TRIES || (refusal === 'tree_moved' && session?.id !== tree.session.id)
/** Attempts before the leases of a busy tree are revoked. */
export const BUSY_TRIES = 3

export const descendantIds = ({ descendants }: TreeSnapshot): string[] =>
  descendants.map(({ child_id }) => child_id)

export async function revokeLeases({ store }: Deps, [first, ...others]: readonly string[]): Promise<void> {
  if (first === undefined) return
  const taken = (session_id: string) => ({ session_id, events: [], revoke_lease: true }) as const
  await store.commit({ ...taken(first), also: others.map(taken) })
}

/** True if another attempt may succeed. */
export function isMoved({ refusal, session }: CommitRefused, tree: TreeSnapshot): boolean {
  if (refusal !== 'wrong_status') return isTreeMoved(refusal)
  return session !== null && (session.id !== tree.session.id || session.status !== tree.session.status)
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

export async function readTree(
  { store }: Deps,
  sessionId: string,
): Promise<{ tree: TreeSnapshot; expect: RowChange }> {
  const session = await store.sessions.get(sessionId)
  if (session === null) throw new AppError('not_found', `Session ${sessionId} not found.`)
  const link = session.parent_id === null ? null : await store.links.get(sessionId)
  const root_id = link?.root_id ?? sessionId
  const { version, open } = await store.links.tree(root_id)
  return {
    tree: { session, link, descendants: openDescendants(open, sessionId) },
    expect: { do: 'tree.expect', root_id, version },
  }
}

/** Deepest first. */
function openDescendants(open: readonly Link[], top: string): Link[] {
  const under = new Set([top])
  const found: Link[] = []
  for (const link of open.toSorted((a, b) => a.depth - b.depth)) {
    if (!under.has(link.parent_id)) continue
    under.add(link.child_id)
    found.unshift(link)
  }
  return found
}
