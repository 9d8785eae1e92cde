/** Missions in the simulation: what people do about them, and what must be so of them in the end. */
import type { LogStore } from '@cairn/log'
import { isMissionOver, type MissionStatus, type SessionEvent } from '@cairn/protocol'
import { cancelMission, defineMission, type Deps, pauseMission, resumeMission } from '@cairn/sessions'
import { alice } from '../turn/stage.ts'
import type { Act } from './people.ts'
import type { Truth } from './memory-store.ts'
import type { World } from './world.ts'

/** Small ones: they run out within the simulation. */
const someBudget = (world: World): object =>
  world.pick([
    [2, {}],
    [1, { budget: { max_tokens: world.between(50, 800) } }],
    [1, { budget: { max_minutes: world.between(2, 60) / 60 } }],
  ])

export function missionActs(
  world: World,
  deps: Deps,
  id: string,
  say: (text: string) => Promise<void>,
): readonly Act[] {
  const withMission = async (run: (mission: Found) => Promise<unknown>): Promise<void> => {
    const mission = await deps.store.missions.current(id)
    if (mission !== null) await run(mission)
  }
  const define = (): Promise<unknown> =>
    defineMission(deps, id, {
      description: `reach ${world.newId()}`,
      rubric: 'it is reached',
      max_iterations: world.between(1, 4),
      ...someBudget(world),
    })
  const cancel = (mission: Found): Promise<unknown> =>
    cancelMission(deps, mission, alice, { reason: 'enough', cascade_to_workers: world.chance(0.6) })
  return [
    [1.5, ['a mission', define]],
    [0.5, ['/mission', () => say(`/mission reach ${world.newId()}`)]],
    [0.8, ['a pause of a mission', () => withMission(found => pauseMission(deps, found, alice, 'lunch'))]],
    [1.5, ['a resume of a mission', () => withMission(found => resumeMission(deps, found, alice, 'go'))]],
    [0.6, ['a cancel of a mission', () => withMission(cancel)]],
    [0.3, ['/mission pause', () => say('/mission pause')]],
    [0.3, ['/mission resume', () => say('/mission resume')]],
    [0.2, ['/mission cancel', () => say(`/mission cancel${world.chance(0.5) ? ' --keep-workers' : ''}`)]],
  ]
}
type Found = NonNullable<Awaited<ReturnType<LogStore['missions']['current']>>>

/** The rows of missions are what the log says. */
export function checkMissionRows(truth: Truth, id: string, log: readonly SessionEvent[]): string[] {
  const told = new Map<string, { status: MissionStatus; rounds: number }>()
  for (const event of log) {
    if (event.type === 'mission.defined') told.set(event.data.mission_id, { status: 'active', rounds: 0 })
    if (!event.type.startsWith('mission.') || !('mission_id' in event.data)) continue
    const mission = told.get(String(event.data.mission_id))
    if (mission === undefined) continue
    if (event.type === 'mission.paused') mission.status = 'paused'
    if (event.type === 'mission.resumed') mission.status = 'active'
    if (event.type === 'mission.cancelled') mission.status = 'cancelled'
    if (event.type !== 'mission.evaluation.end') continue
    const { result, iteration } = event.data
    mission.rounds = iteration
    const stays = result === 'needs_revision' || (mission.status === 'paused' && !isMissionOver(result))
    if (!stays) mission.status = result
  }
  const { missions } = truth.resources.missions.list({
    org_id: alice.org_id,
    session_id: id,
    limit: 1000,
  })
  const found = missions.flatMap(({ mission_id, status, iteration }) => {
    const said = told.get(mission_id)
    return said?.status === status && said.rounds === iteration
      ? []
      : [`${mission_id} is ${status} after ${iteration}, and the log says ${JSON.stringify(said)}`]
  })
  if (missions.length !== told.size) found.push(`there are ${missions.length}, the log has ${told.size}`)
  return found.map(what => `${id}: mission ${what}`)
}
