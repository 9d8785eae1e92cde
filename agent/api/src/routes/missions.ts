/** Missions: start one in a session, view it, pause, resume or cancel it. */
import type { Mission } from '@cairn/log'
import {
  AgentConfig,
  AppError,
  type Config,
  cutAt,
  type MissionDetail,
  type Principal,
  type ResearchInput,
  type ResearchSettings,
  type SessionBudget,
} from '@cairn/protocol'
import {
  cancelMission as cancel,
  createSession,
  DEFAULT_AGENT,
  defineMission,
  findMission,
  listTasks,
  missionEvaluator,
  type MissionInput,
  pauseMission as pause,
  researchProblem,
  researchSettings,
  resumeMission as resume,
  shownMission,
  unpricedModel,
  viewMission,
  viewResearch,
  visibleTo,
} from '@cairn/sessions'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'
import { configOf } from '../settings.ts'
import { pageLimit } from './page-limit.ts'
import { agentNames } from './sessions.ts'
import { sessionWorkers } from './workers.ts'

const TITLE_CHARS = 80

export const createMission: Handler<'createMission'> = async ({ services, principal, body }) => {
  const { session_id, agent, description, rubric } = body
  if (session_id !== undefined && agent !== undefined)
    throw new AppError(
      'invalid_body',
      'agent: an existing session already has an agent: send either session_id or agent',
    )
  const session = session_id === undefined ? null : await services.guard.load(principal, session_id)
  const name = session?.agent ?? agent ?? DEFAULT_AGENT
  const { config } = await configOf(services, principal)
  const defaults = (config.agents[name] ?? AgentConfig.parse({})).missions
  const budget = { ...defaults.budget, ...body.budget }
  refuseUnpriced(config, name, session?.config['model'], budget)
  const input: MissionInput = {
    description,
    rubric: rubric.content,
    max_iterations: body.max_iterations ?? defaults.max_iterations,
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(body.research === undefined ? {} : { research: settingsFor(services, config, name, body.research) }),
  }
  const coordinator =
    session ??
    (await createSession(services, await agentNames(services, principal), {
      agent: name,
      title: cutAt(description.replaceAll(/\s+/g, ' '), TITLE_CHARS),
      principal,
    }))
  return shown(services, await defineMission(services, coordinator.id, input))
}

function settingsFor(
  { sandbox }: Services,
  config: Config,
  name: string,
  input: ResearchInput,
): ResearchSettings {
  const agent = config.agents[name] ?? AgentConfig.parse({})
  const problem = researchProblem(agent, input, sandbox?.terminal !== 'not_offered')
  if (problem === null) return researchSettings(input, config.research)
  throw new AppError('invalid_body', `${problem.path}: ${problem.message}`, { extra: { errors: [problem] } })
}

/** A budget in USD can only be enforced with models that have a price. */
function refuseUnpriced(config: Config, agent: string, own: unknown, budget: SessionBudget): void {
  const settings = config.agents[agent] ?? AgentConfig.parse({})
  const model = String(own ?? settings.model ?? config.models.default)
  const models = [model, missionEvaluator(settings, model)]
  const unpriced = unpricedModel(budget, config.models.catalog, models)
  if (unpriced === null) return
  const message = `model ${unpriced} has no price in models.catalog: a budget in USD cannot be enforced`
  throw new AppError('invalid_body', `budget.max_cost_usd: ${message}`, {
    extra: { errors: [{ path: 'budget.max_cost_usd', message }] },
  })
}

export const listMissions: Handler<'listMissions'> = async ({ services, principal, query }) => {
  const { missions, next_cursor } = await services.store.missions.list({
    ...visibleTo(principal),
    limit: pageLimit(query.limit),
    ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
    ...(query.status === undefined ? {} : { status: query.status }),
    ...(query.session_id === undefined ? {} : { session_id: query.session_id }),
  })
  return { missions: missions.map(mission => shownMission(mission, services.now())), next_cursor }
}

const shown = ({ store, now }: Services, mission: Mission): Promise<MissionDetail> =>
  viewMission(store, mission, now())
const find = ({ store }: Services, principal: Principal, id: string): Promise<Mission> =>
  findMission(store, principal, id)

export const getMission: Handler<'getMission'> = async ({ services, principal, params }) =>
  shown(services, await find(services, principal, params.mission_id))

export const missionTasks: Handler<'missionTasks'> = async ({ services, principal, params }) => {
  const { session_id } = await find(services, principal, params.mission_id)
  return { tasks: await listTasks(services.store, { id: session_id }) }
}

export const missionWorkers: Handler<'missionWorkers'> = async request => {
  const { session_id } = await find(request.services, request.principal, request.params.mission_id)
  return sessionWorkers({ ...request, params: { id: session_id } })
}

export const missionResearch: Handler<'missionResearch'> = async ({ services, principal, params }) =>
  viewResearch(services.store, await find(services, principal, params.mission_id))

export const pauseMission: Handler<'pauseMission'> = async ({ services, principal, params, body }) => {
  const mission = await find(services, principal, params.mission_id)
  return shown(services, await pause(services, mission, principal, body.reason ?? null))
}

export const resumeMission: Handler<'resumeMission'> = async ({ services, principal, params, body }) => {
  const mission = await find(services, principal, params.mission_id)
  return shown(services, await resume(services, mission, principal, body.note))
}

export const cancelMission: Handler<'cancelMission'> = async ({ services, principal, params, body }) => {
  const mission = await find(services, principal, params.mission_id)
  const { reason = null, cascade_to_workers } = body
  return shown(services, await cancel(services, mission, principal, { reason, cascade_to_workers }))
}
