/** Research as the API shows it: read from its rows, which also cover research that ended long ago. */
import type { LogStore, Mission } from '@cairn/log'
import { AppError, type BranchView, type ResearchView } from '@cairn/protocol'
import { parentKeyOf } from '@cairn/state'

export async function viewResearch(store: LogStore, mission: Mission): Promise<ResearchView> {
  const { mission_id, session_id, definition, state } = mission
  const settings = definition.research
  if (settings === undefined)
    throw new AppError(
      'not_found',
      `Mission ${mission_id} is not a research mission: it has no branches and sources.`,
    )
  const [branches, sources] = await Promise.all([
    store.research.branches(mission_id),
    store.research.sources(mission_id),
  ])
  const links = new Map(
    (await Promise.all(branches.map(({ worker_id }) => store.links.get(worker_id)))).flatMap(link =>
      link === null ? [] : [[link.child_id, link.status] as const],
    ),
  )
  const shown = branches.map(({ key, worker_id, question, state: came, harvested_at }): BranchView => ({
    key,
    parent_key: parentKeyOf(key),
    worker_id,
    question,
    status: came.status ?? links.get(worker_id) ?? 'open',
    score: came.score ?? null,
    improves: came.improves ?? null,
    why: came.why ?? null,
    findings: came.findings ?? null,
    level: came.level ?? null,
    harvested_at: harvested_at === null ? null : new Date(harvested_at).toISOString(),
    adopted_at: came.adopted_at ?? null,
  }))
  const standing = { best_score: null, consecutive_non_improving: 0, level: null, ...state.research }
  return {
    run: {
      ...settings,
      run_id: mission_id,
      mission_id,
      session_id,
      ...standing,
      report: state.report ?? null,
    },
    branches: shown.toSorted((a, b) => compareKeys(a.key, b.key)),
    sources: sources.map(({ number, branch_key, url, title, quote, claim, fetched_at }) => ({
      number,
      branch_key,
      url,
      title,
      quote,
      claim,
      fetched_at,
    })),
  }
}

/** Tree order: 1, 1.1, 1.2, 2, 10. */
function compareKeys(a: string, b: string): number {
  const [left, right] = [a, b].map(key => key.split('.').map(Number))
  for (const [at, number] of (left ?? []).entries()) {
    const other = right?.[at]
    if (other === undefined) return 1
    if (number !== other) return number - other
  }
  return (left?.length ?? 0) - (right?.length ?? 0)
}
