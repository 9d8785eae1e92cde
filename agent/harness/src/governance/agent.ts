/** The agent of a session: the configured agent, narrowed by the session's own settings. */
import { AgentConfig, type Config, GovernanceConfig } from '@cairn/protocol'
import { childConfig, DEFAULT_AGENT, missionEvaluator, StoredSessionConfig } from '@cairn/sessions'
import type { SessionRow } from '@cairn/log'
import { narrowAgent } from './narrow.ts'

export type AgentSetup = {
  agent: AgentConfig
  /** Names in the form <provider>/<model>. */
  model: string
  escalation_model: string | null
  title_model: string
  evaluator_model: string
  mission_evaluator_model: string
  system: string
  max_iterations: number
  temperature: number | undefined
  max_tokens: number | undefined
}

/** The session cannot run with this configuration; the message says what to change. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}

/** Names of all agents; the default agent exists without being configured. */
export const agentNames = (config: Config): string[] => [
  ...new Set([DEFAULT_AGENT, ...Object.keys(config.agents)]),
]

function agentNamed(config: Config, name: string): AgentConfig {
  const agent = config.agents[name] ?? (name === DEFAULT_AGENT ? AgentConfig.parse({}) : null)
  if (agent === null)
    throw new ConfigurationError(`Unknown agent ${name}. Available: ${agentNames(config).join(', ')}.`)
  return agent
}

const ASKING = ['ask_user_question', 'request_user_action']

/** The agent of a session with its rights there: a child never has more than any of its ancestors. */
export function agentOf(config: Config, session: Pick<SessionRow, 'agent' | 'config'>): AgentConfig {
  const own = agentNamed(config, session.agent)
  const child = childConfig(session)
  if (child === null) return own
  const above = child.ancestors.map(name => agentNamed(config, name))
  const narrowed = above.reduce((agent, each) => narrowAgent(agent, each), own)
  const mayAsk = above.every(agent => agent.workers.may_ask)
  const { governance } = narrowed
  const denied_tools = mayAsk ? governance.denied_tools : [...governance.denied_tools, ...ASKING]
  const asked = { ...narrowed, governance: { ...governance, denied_tools } }
  return child.tools === undefined
    ? asked
    : narrowAgent(asked, { tools: child.tools, governance: asked.governance })
}

/** The rules of a session whose work continues although its agent is no longer configured. */
export function policyOf(config: Config, session: Pick<SessionRow, 'agent' | 'config'>): GovernanceConfig {
  try {
    return agentOf(config, session).governance
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return GovernanceConfig.parse({})
  }
}

export function setUpAgent(config: Config, session: Pick<SessionRow, 'agent' | 'config'>): AgentSetup {
  const agent = agentOf(config, session)
  const parsed = StoredSessionConfig.safeParse(session.config)
  if (!parsed.success)
    throw new ConfigurationError(
      'Invalid settings of this session: ' +
        `${parsed.error.issues.map(issue => `${issue.path.join('.')}: ${issue.message}`).join('; ')}.`,
    )
  const own = parsed.data
  const model = own.model ?? agent.model ?? config.models.default
  if (model === undefined)
    throw new ConfigurationError(
      `No model is configured: set models.default or agents.${session.agent}.model.`,
    )
  return {
    agent,
    model,
    escalation_model: agent.escalation_model ?? null,
    title_model: agent.summary_model ?? model,
    evaluator_model: agent.goals.evaluator_model ?? agent.summary_model ?? model,
    mission_evaluator_model: missionEvaluator(agent, model),
    system: own.system ?? agent.system,
    max_iterations: Math.min(agent.max_iterations, own.max_iterations ?? agent.max_iterations),
    temperature: own.temperature ?? agent.temperature,
    max_tokens: own.max_tokens ?? agent.max_tokens,
  }
}
