/** Missions as the API shows them. */
import type { LogStore, Mission } from '@cairn/log'
import { AppError, type MissionDetail, type MissionView, type Principal } from '@cairn/protocol'
import type { Mission as Folded } from '@cairn/state'
import { mayAccess } from '../access.ts'
import { readFolded } from '../read-folded.ts'

/** The mission; throws not_found if it does not exist or the principal may not see it. */
export async function findMission(store: LogStore, principal: Principal, id: string): Promise<Mission> {
  const mission = await store.missions.get(id)
  if (mission === null || !mayAccess(principal, mission))
    throw new AppError('not_found', `Mission ${id} not found.`)
  return mission
}

const iso = (at: number): string => new Date(at).toISOString()

export function shownMission(mission: Mission, now: number): MissionView {
  const { definition, state } = mission
  const { tokens, cost_usd } = state.spent ?? { tokens: 0, cost_usd: 0 }
  return {
    mission_id: mission.mission_id,
    session_id: mission.session_id,
    kind: mission.kind,
    description: definition.description,
    rubric: definition.rubric,
    status: mission.status,
    iteration: mission.iteration,
    max_iterations: definition.max_iterations,
    budget: definition.budget ?? null,
    spent: { tokens, cost_usd, minutes: ((mission.ended_at ?? now) - mission.created_at) / 60_000 },
    last_evaluation: state.last_evaluation ?? null,
    reason: state.reason ?? null,
    created_at: iso(mission.created_at),
    ended_at: mission.ended_at === null ? null : iso(mission.ended_at),
  }
}

export async function viewMission(store: LogStore, mission: Mission, now: number): Promise<MissionDetail> {
  const { session_id, mission_id } = mission
  const [session, { states }, links] = await Promise.all([
    store.sessions.get(session_id),
    readFolded(store, session_id),
    store.links.children(session_id, { open: true }),
  ])
  const shown = shownMission(mission, now)
  // The fold holds a later mission of the session.
  const folded: Folded | null = states.mission?.mission_id === mission_id ? states.mission : null
  return {
    ...shown,
    ...(folded === null
      ? {}
      : { spent: { ...shown.spent, tokens: folded.spending.tokens, cost_usd: folded.spending.cost_usd } }),
    session_status: session?.status ?? 'archived',
    evaluating: folded !== null && folded.open !== null,
    open_children: links.length,
    verdicts: mission.state.verdicts ?? [],
  }
}
