/** Who acts in a session: its agent of the configuration, narrowed by what the session says for itself. */
import { AgentConfig, type Config } from '@cairn/protocol'
import { DEFAULT_AGENT, SessionConfig } from '@cairn/sessions'
import type { SessionRow } from '@cairn/log'

export type AgentSetup = {
  agent: AgentConfig
  /** <provider>/<model> names. */
  model: string
  escalation_model: string | null
  title_model: string
  evaluator_model: string
  system: string
  max_iterations: number
  temperature: number | undefined
  max_tokens: number | undefined
}

/** The session cannot run as things are configured; the message says what to change. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}

/** Names of the agents there are; the default one exists without being configured. */
export const agentNames = (config: Config): string[] => [
  ...new Set([DEFAULT_AGENT, ...Object.keys(config.agents)]),
]

export function setUpAgent(config: Config, session: Pick<SessionRow, 'agent' | 'config'>): AgentSetup {
  const agent =
    config.agents[session.agent] ?? (session.agent === DEFAULT_AGENT ? AgentConfig.parse({}) : null)
  if (agent === null)
    throw new ConfigurationError(
      `The configuration has no agent named ${session.agent}; it has ${agentNames(config).join(', ')}.`,
    )
  const parsed = SessionConfig.safeParse(session.config)
  if (!parsed.success)
    throw new ConfigurationError(
      `The settings of this session do not fit: ${parsed.error.issues.map(issue => `${issue.path.join('.')}: ${issue.message}`).join('; ')}.`,
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
    system: own.system ?? agent.system,
    max_iterations: Math.min(agent.max_iterations, own.max_iterations ?? agent.max_iterations),
    temperature: own.temperature ?? agent.temperature,
    max_tokens: own.max_tokens ?? agent.max_tokens,
  }
}
