/**
 * The research of a session as a fold of its log: its branches, what was harvested of them, and its report
 * (contract 14.5).
 *
 *   none      ─ worker.spawned {branch_key} ─▶ at work
 *   at work   ─ worker.complete, worker.failed ─▶ ended
 *   ended     ─ research.harvested {folded} ─▶ harvested: the model has read it, exactly once
 */
import type { EventId, EventOf, ResearchLevel, ResearchSettings, SessionEvent } from '@cairn/protocol'
import { parseResult } from './children.ts'
import { converge, type Convergence, noConvergence } from './convergence.ts'

export const REPORT_TOOL = 'research_report'
export const BRANCH_TOOL = 'research_branch'

export type Ended = {
  readonly as: 'complete' | 'failed'
  /** The result or the error; empty after the harvest. */
  readonly text: string
  readonly at: EventId
}
export type Branch = {
  readonly key: string
  readonly worker_id: string
  readonly question: string
  readonly spawned_at: EventId
  /** Null while it is at work. */
  readonly ended: Ended | null
  readonly harvested: boolean
  /** Null: it failed or could not be scored. */
  readonly score: number | null
}
export type Research = {
  readonly mission_id: string
  readonly run_id: string
  readonly settings: ResearchSettings
  readonly branches: readonly Branch[]
  readonly convergence: Convergence
  /** When each level that counts was last reached. */
  readonly reached: { readonly level: ResearchLevel; readonly at: EventId } | null
  readonly report: { readonly artifact_id: string; readonly title: string; readonly at: EventId } | null
}
export type ResearchState = Research | null

export function foldResearch(research: ResearchState, event: SessionEvent): ResearchState {
  if (event.type === 'research.defined') return begin(event)
  if (research === null) return null
  switch (event.type) {
    case 'worker.spawned':
      return addBranch(research, event)
    case 'worker.complete':
    case 'worker.failed':
      return endBranch(research, event)
    case 'research.harvested':
      return harvest(research, event)
    case 'tool.result':
      return event.data.name === REPORT_TOOL
        ? { ...research, report: reportOf(event) ?? research.report }
        : research
    default:
      return research
  }
}

const begin = ({ data }: EventOf<'research.defined'>): Research => ({
  mission_id: data.mission_id,
  run_id: data.run_id,
  settings: data.settings,
  branches: [],
  convergence: noConvergence,
  reached: null,
  report: null,
})

function addBranch(research: Research, { id, data }: EventOf<'worker.spawned'>): Research {
  const { branch_key: key, mission_id, worker_id, goal: question } = data
  if (key === undefined || mission_id !== research.mission_id) return research
  const branch = { key, worker_id, question, spawned_at: id, ended: null, harvested: false, score: null }
  return { ...research, branches: [...research.branches, branch] }
}

function endBranch(
  research: Research,
  event: EventOf<'worker.complete'> | EventOf<'worker.failed'>,
): Research {
  const { worker_id, branch_key } = event.data
  if (branch_key === undefined) return research
  const ended: Ended =
    event.type === 'worker.complete'
      ? { as: 'complete', text: event.data.result, at: event.id }
      : { as: 'failed', text: event.data.error, at: event.id }
  const branches = research.branches.map(each => (each.worker_id === worker_id ? { ...each, ended } : each))
  return { ...research, branches }
}

function harvest(research: Research, { id, data }: EventOf<'research.harvested'>): Research {
  const { folded, scores, run_id } = data
  if (run_id !== research.run_id) return research
  const { after, reached } = converge(research.convergence, research.settings, { folded, scores })
  const branches = research.branches.map(each =>
    folded.includes(each.key)
      ? {
          ...each,
          harvested: true,
          score: scores[each.key] ?? null,
          ended: each.ended === null ? null : { ...each.ended, text: '' },
        }
      : each,
  )
  return {
    ...research,
    branches,
    convergence: after,
    reached: after.level === null ? null : reached === null ? research.reached : { level: reached, at: id },
  }
}

function reportOf({ id, data }: EventOf<'tool.result'>): Research['report'] {
  const { artifact_id, title } = parseResult(data.content)
  return typeof artifact_id === 'string' && typeof title === 'string' ? { artifact_id, title, at: id } : null
}

/** Branches that ended and are not harvested yet, in the order of their outcomes. */
export const toHarvest = ({ branches }: Research): readonly (Branch & { ended: Ended })[] =>
  branches
    .flatMap(each => (each.ended !== null && !each.harvested ? [{ ...each, ended: each.ended }] : []))
    .toSorted((a, b) => a.ended.at - b.ended.at)

/** The key of the parent branch; null: none. */
export const parentKeyOf = (key: string): string | null =>
  key.includes('.') ? key.slice(0, key.lastIndexOf('.')) : null
