/** The workers of a page as a tree, in reading order: a worker, then its descendants. */
import type { WorkerView } from '@cairn/protocol'

export type TreeRow = { worker: WorkerView; level: number }

/** Oldest first. A worker whose parent was not on any page read is shown at the top level. */
export function treeRows(workers: readonly WorkerView[]): TreeRow[] {
  const known = new Set(workers.map(({ worker_id }) => worker_id))
  const below = new Map<string, WorkerView[]>()
  const top: WorkerView[] = []
  for (const worker of workers.toSorted(byStart)) {
    if (!known.has(worker.parent_id)) top.push(worker)
    else below.set(worker.parent_id, [...(below.get(worker.parent_id) ?? []), worker])
  }
  const rows: TreeRow[] = []
  const visit = (worker: WorkerView, level: number): void => {
    rows.push({ worker, level })
    for (const child of below.get(worker.worker_id) ?? []) visit(child, level + 1)
  }
  for (const worker of top) visit(worker, 1)
  return rows
}

const byStart = (a: WorkerView, b: WorkerView): number =>
  Date.parse(a.started_at) - Date.parse(b.started_at) || (a.worker_id < b.worker_id ? -1 : 1)
