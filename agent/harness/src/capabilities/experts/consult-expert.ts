/** consult_expert: hands a task to one of the experts that the agent lists (contract 14.9). */
import type { Config, EventDraft, ExpertConfig } from '@cairn/protocol'
import { z } from 'zod'
import { type AgentSetup, ConfigurationError } from '../../governance/agent.ts'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool } from '../../tools/tool.ts'
import { expertDelegation, expertFailure, expertResult } from './events.ts'
import { offeredTo, selectTools } from './expert-calls.ts'
import { type ExpertDeps, runExpert } from './run-expert.ts'

const LOST = 'The runner stopped while the expert was working; its findings are lost.'

export type ExpertToolDeps = Pick<ExpertDeps, 'models' | 'clock' | 'random' | 'report'> & {
  config: Config
  setup: AgentSetup
  /** Tools of the session, from which experts get theirs. */ tools: readonly Tool[]
}

/** The tool, for an agent that lists experts; empty otherwise. */
export function expertTools(deps: ExpertToolDeps): Tool[] {
  const {
    config,
    setup: { agent, model },
  } = deps
  const experts = listExperts(deps)
  if (experts.size === 0) return []

  const rules = { policy: agent.governance, agentTools: agent.tools }
  const toolsOf = (expert: ExpertConfig): Tool[] => selectTools(deps.tools, expert.tools)
  const unknown = (name: string): string =>
    `Unknown expert ${name}. Available: ${[...experts.keys()].join(', ')}.`

  const begins = ({ expert: name, task }: Args, tool_call_id: string): EventDraft[] => {
    const expert = experts.get(name)
    const tools = expert ? offeredTo(toolsOf(expert), rules).map(tool => tool.name) : []
    return [
      expertDelegation({
        expert: name,
        task,
        tools,
        max_iterations: expert?.max_iterations ?? 0,
        tool_call_id,
      }),
    ]
  }
  const lost = ({ expert }: Partial<Args>, tool_call_id: string): EventDraft[] => [
    expertFailure({ expert: expert ?? '', iterations_used: 0, error: LOST, tool_call_id }),
  ]

  return [
    defineTool({
      name: 'consult_expert',
      description:
        'Give one task to an expert, which works on it alone and answers once. The expert cannot see this ' +
        'conversation: include everything that it needs. Experts:\n' +
        `${[...experts].map(([name, { description }]) => `- ${name}: ${description}`).join('\n')}`,
      parameters: Parameters,
      readOnly: false,
      idempotent: false,
      begins,
      lost,
      // Its budget is in iterations; each model and tool call in it has its own limit.
      timeoutMs: () => Number.POSITIVE_INFINITY,
      async run({ expert: name, ...brief }, context) {
        const { tool_call_id } = context
        const expert = experts.get(name)
        if (!expert)
          return {
            content: { error: unknown(name) },
            events: [expertFailure({ expert: name, iterations_used: 0, error: unknown(name), tool_call_id })],
          }
        const { spent, trace, iterations_used, ...outcome } = await runExpert(
          {
            ...deps,
            ...rules,
            tools: toolsOf(expert),
            limits: config.limits,
            toolTimeoutMs: config.limits.tool_timeout_s * 1000,
          },
          { ...expert, name, model: expert.model ?? model },
          brief,
          context,
        )
        const told = { expert: name, iterations_used, tool_call_id, trace, ...spent }
        return 'error' in outcome
          ? {
              content: { error: outcome.error, expert: name },
              events: [expertFailure({ ...told, error: outcome.error })],
            }
          : {
              content: { expert: name, content: outcome.content },
              events: [expertResult({ ...told, content: outcome.content })],
            }
      },
    }),
  ]
}

/** Throws if the agent lists an expert that is not configured. */
const listExperts = ({ config, setup: { agent } }: ExpertToolDeps): Map<string, ExpertConfig> =>
  new Map(
    agent.experts.map(name => {
      const expert = config.experts[name]
      if (!expert)
        throw new ConfigurationError(
          `The agent lists the unknown expert ${name}. Configured experts: ` +
            `${Object.keys(config.experts).join(', ') || 'none'}.`,
        )
      return [name, expert] as const
    }),
  )

const Parameters = z.strictObject({
  expert: z.string().min(1).describe('name of the expert'),
  task: z
    .string()
    .min(1)
    .describe('what the expert must find out or judge, and what its answer must contain'),
  context: z.string().optional().describe('what the expert should know'),
})
type Args = z.output<typeof Parameters>
