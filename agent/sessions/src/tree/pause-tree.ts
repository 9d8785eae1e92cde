/** Pauses and resumes the open descendants of a session: the parts of one commit over all of them. */
import type { Link, LinkedCommit, SessionRow } from '@cairn/log'
import { parkRun } from '../code/runs.ts'
import type { Deps } from '../deps.ts'
import { sessionPaused, sessionResumed } from '../events/lifecycle.ts'
import type { TreeSnapshot } from './commit-tree.ts'

async function readRows({ store }: Deps, links: readonly Link[]): Promise<Map<string, SessionRow>> {
  const rows = await Promise.all(links.map(({ child_id }) => store.sessions.get(child_id)))
  return new Map(rows.flatMap(row => (row === null ? [] : [[row.id, row]])))
}

export async function pauseDescendants(deps: Deps, { descendants }: TreeSnapshot): Promise<LinkedCommit[]> {
  const rows = await readRows(deps, descendants)
  const active = descendants.filter(({ child_id }) => rows.get(child_id)?.status === 'active')
  return Promise.all(
    active.map(async ({ child_id, root_id }): Promise<LinkedCommit> => ({
      session_id: child_id,
      events: [sessionPaused('parent_paused')],
      expect_status: ['active'],
      revoke_lease: true,
      rows: [
        { do: 'link.mark', child_id, root_id, paused_by_parent: true },
        ...(await parkRun(deps.store, child_id)),
      ],
    })),
  )
}

/**
 * Resumes the descendants that were paused from above. One that was paused by itself stays paused, with its
 * subtree.
 */
export async function resumeDescendants(
  deps: Deps,
  { session, descendants }: TreeSnapshot,
): Promise<LinkedCommit[]> {
  const rows = await readRows(deps, descendants)
  const resumed = new Set([session.id])
  const parts: LinkedCommit[] = []
  for (const { child_id, root_id, parent_id, paused_by_parent } of descendants.toReversed()) {
    if (!resumed.has(parent_id)) continue
    const isPaused = rows.get(child_id)?.status === 'paused'
    if (isPaused && !paused_by_parent) continue
    resumed.add(child_id)
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
