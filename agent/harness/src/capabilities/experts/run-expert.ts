/**
 * Runs an expert (contract 14.9): a separate loop with its own model, instructions, tools and budget, and no
 * memory.
 */
import { asError, type EventData, type ExpertConfig } from '@cairn/protocol'
import type { Clock } from '@cairn/models/clock'
import {
  callWatched,
  type WatchedDeps,
  costOf,
  type ModelAnswer,
  ModelError,
  type ModelMessage,
  type Models,
  type ResolvedModel,
} from '@cairn/models'
import { toolJsonSchema } from '../../tools/parameters.ts'
import type { ToolContext } from '../../tools/tool.ts'
import { callForExpert, type ExpertCallDeps, offeredTo } from './expert-calls.ts'

export type Expert = Pick<ExpertConfig, 'system' | 'max_iterations'> & {
  name: string
  /** <provider>/<model>. */ model: string
}
export type Brief = { task: string; context?: string | undefined }
export type ExpertDeps = Omit<ExpertCallDeps, 'context' | 'defaultTimeoutMs'> &
  Omit<WatchedDeps, 'signal'> & { models: Models; clock: Clock; toolTimeoutMs: number }

type Trace = NonNullable<EventData<'expert.result'>['trace']>
type Spent = Pick<
  EventData<'expert.result'>,
  'input_tokens' | 'output_tokens' | 'cost_usd' | 'cost_unpriced_model'
>
export type ExpertRun = ({ content: string } | { error: string }) & {
  iterations_used: number
  trace: Trace
  spent: Spent
}

const LAST_STEP = 'This is your last step: answer now with what you have, and say what is unfinished.'

/**
 * Resolves with an answer or a failure in every case but one: rejects with the signal's reason when the turn
 * is stopped.
 */
export async function runExpert(
  deps: ExpertDeps,
  expert: Expert,
  brief: Brief,
  context: ToolContext,
): Promise<ExpertRun> {
  const trace: Trace = []
  let iterations_used = 0
  let spent: Spent = {}
  const offered = offeredTo(deps.tools, deps).map(tool => ({
    name: tool.name,
    description: tool.description,
    parameters: toolJsonSchema(tool),
  }))
  const messages: ModelMessage[] = [
    {
      role: 'system',
      content:
        `${expert.system}\n\nYou are consulted once and have at most ${expert.max_iterations} steps. Your ` +
        'last message is your answer; the agent that asked sees nothing else.',
    },
    {
      role: 'user',
      content:
        brief.context === undefined ? brief.task : `${brief.task}\n\nWhat you should know:\n${brief.context}`,
    },
  ]
  const end = (outcome: { content: string } | { error: string }): ExpertRun => ({
    ...outcome,
    iterations_used,
    trace,
    spent,
  })
  try {
    const served = deps.models.resolve(expert.model)
    while (iterations_used < expert.max_iterations) {
      iterations_used++
      const asked =
        iterations_used === expert.max_iterations && iterations_used > 1
          ? [...messages, { role: 'user' as const, content: LAST_STEP }]
          : messages
      const answer = await callWatched({ ...deps, signal: context.signal }, served, {
        model: served.model,
        messages: asked,
        tools: offered,
      })
      spent = add(spent, answer, served)
      const { content, tool_calls = [] } = answer.message
      if (tool_calls.length === 0)
        return end(content.trim() === '' ? { error: 'The expert gave an empty answer.' } : { content })
      messages.push(answer.message)
      for (const call of tool_calls) {
        const inner = {
          tool_call_id: `${context.tool_call_id}-${trace.length + 1}`,
          name: call.function.name,
          arguments: call.function.arguments,
        }
        const { content: result, error } = await callForExpert(
          { ...deps, defaultTimeoutMs: deps.toolTimeoutMs, context },
          inner,
        )
        trace.push({ name: inner.name, ok: error === null, ...(error === null ? {} : { error }) })
        messages.push({ role: 'tool', tool_call_id: call.id, content: result })
      }
    }
    return end({ error: `The expert used up its ${expert.max_iterations} iterations without an answer.` })
  } catch (thrown) {
    context.signal.throwIfAborted()
    const error = asError(thrown)
    if (!(thrown instanceof ModelError))
      deps.report('error', 'an expert failed', { expert: expert.name, error: error.stack ?? error.message })
    return end({ error: error.message })
  }
}

function add(spent: Spent, { usage }: ModelAnswer, served: ResolvedModel): Spent {
  const cost = costOf(usage, served.name, served.rates)
  return {
    input_tokens: (spent.input_tokens ?? 0) + usage.input_tokens,
    output_tokens: (spent.output_tokens ?? 0) + usage.output_tokens,
    // One model, so either all its calls have a price or none has.
    ...('cost_usd' in cost
      ? { cost_usd: Number(((spent.cost_usd ?? 0) + cost.cost_usd).toFixed(10)) }
      : cost),
  }
}
