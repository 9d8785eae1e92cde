/**
 * A session as an ATIF trajectory (Agent Trajectory Interchange Format, schema ATIF-v1.8): one JSON document
 * per session.
 */
import { nestsTooDeep } from '@cairn/protocol'
import { ratingsOf, type Trajectory, type TrajectoryStep } from '@cairn/state'

const ATIF_VERSION = 'ATIF-v1.8'
type AtifStep = {
  step_id: number
  timestamp: string
  source: 'user' | 'agent' | 'system'
  message: string
  model_name?: string
  reasoning_content?: string
  tool_calls?: { tool_call_id: string; function_name: string; arguments: Record<string, unknown> }[]
  observation?: { results: { source_call_id: string; content: string }[] }
  metrics?: { prompt_tokens: number; completion_tokens: number; cached_tokens: number; cost_usd?: number }
  /** Number of model calls behind the step. */ llm_call_count?: number
  extra?: Record<string, unknown>
}
export type AtifTrajectory = {
  schema_version: typeof ATIF_VERSION
  session_id: string
  /** Id of the document, one per session. */ trajectory_id: string
  agent: { name: string; version: string; model_name?: string }
  steps: AtifStep[]
  final_metrics: {
    total_prompt_tokens: number
    total_completion_tokens: number
    total_cached_tokens: number
    total_cost_usd: number
    total_steps: number
  }
  extra: Record<string, unknown>
}

/**
 * A call's result is the observation of the step that made the call. Null for a session without an answer.
 */
export function atifTrajectory(
  trajectory: Trajectory,
  agent: string,
  version: string,
): AtifTrajectory | null {
  const results = new Map(
    trajectory.steps.flatMap(step =>
      step.kind === 'tool' ? [[step.tool_call_id, step.content] as const] : [],
    ),
  )
  const steps = trajectory.steps
    .flatMap(step => (step.kind === 'tool' ? [] : [step]))
    .map((step, index) => atifStep(step, index + 1, results, trajectory))
  const answers = trajectory.steps.flatMap(step => (step.kind === 'response' ? [step] : []))
  const [first] = answers
  if (!first) return null
  const sum = (pick: (step: (typeof answers)[number]) => number): number =>
    answers.reduce((total, step) => total + pick(step), 0)
  return {
    schema_version: ATIF_VERSION,
    session_id: trajectory.session_id,
    trajectory_id: trajectory.session_id,
    agent: { name: agent, version, model_name: first.model },
    steps,
    final_metrics: {
      total_prompt_tokens: sum(step => step.input_tokens),
      total_completion_tokens: sum(step => step.output_tokens),
      total_cached_tokens: sum(step => step.cache_read_tokens),
      total_cost_usd: sum(step => step.cost_usd ?? 0),
      total_steps: steps.length,
    },
    extra: { last_event_id: trajectory.last_id, marks: trajectory.marks },
  }
}

function atifStep(
  step: Exclude<TrajectoryStep, { kind: 'tool' }>,
  step_id: number,
  results: ReadonlyMap<string, string>,
  trajectory: Trajectory,
): AtifStep {
  const at = { step_id, timestamp: step.created_at }
  if (step.kind === 'user') {
    return {
      ...at,
      source: step.synthetic === null ? 'user' : 'system',
      message: step.content,
      extra: { event_id: step.event_id, ...(step.synthetic === null ? {} : { synthetic: step.synthetic }) },
    }
  }
  const calls = step.message.tool_calls ?? []
  const ratings = ratingsOf(trajectory, step).map(({ rating, source, score }) => ({ rating, source, score }))
  const observed = calls.flatMap(call => {
    const content = results.get(call.id)
    return content === undefined ? [] : [{ source_call_id: call.id, content }]
  })
  return {
    ...at,
    source: 'agent',
    message: step.message.content,
    model_name: step.model,
    ...(step.reasoning === null ? {} : { reasoning_content: step.reasoning }),
    ...(calls.length
      ? {
          tool_calls: calls.map(call => ({
            tool_call_id: call.id,
            function_name: call.function.name,
            arguments: parsed(call.function.arguments),
          })),
        }
      : {}),
    ...(observed.length ? { observation: { results: observed } } : {}),
    metrics: {
      prompt_tokens: step.input_tokens,
      completion_tokens: step.output_tokens,
      cached_tokens: step.cache_read_tokens,
      ...(step.cost_usd === null ? {} : { cost_usd: step.cost_usd }),
    },
    llm_call_count: 1,
    extra: { event_id: step.event_id, ...(ratings.length ? { ratings } : {}) },
  }
}

/** Arguments that are not a JSON object are kept under a separate key. */
function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (nestsTooDeep(value)) return { unparsed: text }
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : { value }
  } catch {
    return { unparsed: text } // the model did not write JSON, but the format requires an object
  }
}
