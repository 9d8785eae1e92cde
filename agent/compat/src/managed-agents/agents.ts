/** Agents and environments: read-only views of the configuration. */
import { createHash } from 'node:crypto'
import { DEFAULT_AGENT } from '@cairn/sessions'
import { agentNames, type CallerRequest, type CompatDeps } from '../deps.ts'
import { notFound, unsupported } from './errors.ts'

export const ENVIRONMENT = 'env_default'
const PREFIX = 'agent_'
/** The configuration does not record when it changed. */
const EPOCH = '1970-01-01T00:00:00Z'

/** The name of an agent, by its id. */
export function agentOf(deps: CompatDeps, id: string): string {
  const name = id.startsWith(PREFIX) ? id.slice(PREFIX.length) : ''
  if (!agentNames(deps).includes(name)) throw notFound('Agent', id)
  return name
}

/** A number that changes with the configuration of the agent. */
function versionOf({ config }: CompatDeps, name: string): number {
  const text = JSON.stringify(config.agents[name] ?? {})
  return createHash('sha256').update(text).digest().readUInt32BE() % 1_000_000_000
}

/** What a session and the list of agents say about an agent. */
export function shownAgent(deps: CompatDeps, name: string) {
  const { model } = deps.config.agents[name] ?? deps.config.agents[DEFAULT_AGENT] ?? {}
  return {
    type: 'agent',
    id: `${PREFIX}${name}`,
    name,
    version: versionOf(deps, name),
    description: null,
    model: { id: model ?? 'default', speed: 'standard' },
    system: null,
    tools: [],
    mcp_servers: [],
    skills: [],
    multiagent: null,
    execution_identity: { type: 'service_account' },
  }
}

const times = { archived_at: null, created_at: EPOCH, updated_at: EPOCH, metadata: {} }
const json = (value: unknown): Response => Response.json(value, { headers: { 'cache-control': 'no-store' } })

export function handleAgents(deps: CompatDeps, { method }: CallerRequest, [id, part]: string[]): Response {
  if (method !== 'GET')
    throw unsupported('agents', 'The agents are part of the configuration: change them there.')
  if (id === undefined)
    return json({
      data: agentNames(deps).map(name => ({ ...shownAgent(deps, name), ...times })),
      next_page: null,
    })
  const agent = { ...shownAgent(deps, agentOf(deps, id)), ...times }
  if (part === undefined) return json(agent)
  if (part !== 'versions') throw notFound('Path', part)
  return json({ data: [agent], next_page: null })
}

const environment = {
  type: 'environment',
  id: ENVIRONMENT,
  name: 'default',
  description: 'The machine of the runner that works on the session.',
  config: { type: 'self_hosted' },
  ...times,
}

export function handleEnvironments({ method }: CallerRequest, [id, ...more]: string[]): Response {
  if (method !== 'GET' || more.length > 0)
    throw unsupported('environments', 'There is one, and it is part of the configuration.')
  if (id === undefined) return json({ data: [environment], next_page: null })
  if (id !== ENVIRONMENT) throw notFound('Environment', id)
  return json(environment)
}
