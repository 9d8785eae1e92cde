/**
 * Tools that only the demo has. Its tour starts a small mission in its own session; otherwise only people
 * start missions, with `/mission` or over the API. It also opens a page of the service, whose address the
 * script cannot know.
 */
import { randomUUID } from 'node:crypto'
import { systemClock } from '@cairn/models/clock'
import type { Tool } from '@cairn/harness'
import type { LogStore } from '@cairn/log'
import { type AgentConfig, AppError, type Config } from '@cairn/protocol'
import { defineMission } from '@cairn/sessions'
import { z } from 'zod'
import type { ServiceOptions } from '../serve/service-options.ts'

const Parameters = z.strictObject({ description: z.string().min(1), rubric: z.string().min(1) })

type DemoDeps = Pick<ServiceOptions, 'config' | 'demo' | 'role'> & { store: LogStore; url: string }

/** The configuration and additional tools of a demo runner. */
export function demoParts({ config, demo, role, store, url }: DemoDeps): { config: Config; tools: Tool[] } {
  if (!demo) return { config, tools: [] }
  const tools = [missionTool(store)]
  // A process that only runs turns serves no pages.
  if (role === 'worker') return { config, tools }
  return {
    config: { ...config, agents: reachingItself(config.agents, url) },
    tools: [...tools, addressTool(url)],
  }
}

const addressTool = (url: string): Tool => ({
  name: 'service_address',
  description: 'The address of this service, and of its page for logging in. Only the demo has this tool.',
  parameters: z.strictObject({}),
  readOnly: true,
  idempotent: true,
  run: () => Promise.resolve({ content: { address: url, login: `${url}/login` } }),
})

/**
 * Allows the demo's agents to reach this one address and nothing else on this machine. Agents restricted to a
 * list of hosts keep that restriction.
 */
export function reachingItself(agents: Config['agents'], url: string): Config['agents'] {
  const { host } = new URL(url)
  const reaching = (agent: AgentConfig): AgentConfig => {
    const { egress } = agent.governance
    if (egress.default === 'deny') return agent
    const internal = [...egress.internal, host]
    return { ...agent, governance: { ...agent.governance, egress: { ...egress, internal } } }
  }
  return Object.fromEntries(Object.entries(agents).map(([name, agent]) => [name, reaching(agent)]))
}

const missionTool = (store: LogStore): Tool => ({
  name: 'begin_mission',
  description: 'Begin a mission in this session, as /mission would. Only the demo has this tool.',
  parameters: Parameters,
  readOnly: false,
  changesSessionOnly: true,
  // A second call returns the mission of the first.
  idempotent: true,
  async run(args, { session_id }) {
    const deps = { store, now: systemClock.now, newId: randomUUID }
    try {
      const begun =
        (await store.missions.current(session_id)) ??
        (await defineMission(deps, session_id, Parameters.parse(args)))
      return { content: { mission_id: begun.mission_id, status: begun.status } }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { content: { error: error.message } }
    }
  },
})
