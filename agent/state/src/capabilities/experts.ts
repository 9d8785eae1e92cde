/**
 * The experts that a session consulted, as a fold of its log (contract 14.9): each consultation with its end,
 * cost and rating.
 */
import type { EventId, EventOf, SessionEvent } from '@cairn/protocol'

export type ExpertRun = {
  readonly tool_call_id: string
  readonly expert: string
  /** Truncated to 500 characters. */
  readonly task: string
  readonly tools: readonly string[]
  readonly max_iterations: number
  readonly status: 'working' | 'done' | 'failed'
  /** The answer or the error; null while the expert works. */
  readonly outcome: string | null
  /** Target of a rating: the expert.result event; null until it exists. */
  readonly result_id: EventId | null
  readonly iterations_used: number
  readonly tokens: number
  readonly cost_usd: number
  readonly unpriced: boolean
  readonly trace: NonNullable<EventOf<'expert.result'>['data']['trace']>
  /** The user's latest rating. */
  readonly rating: 'up' | 'down' | null
}

export function foldExperts(runs: readonly ExpertRun[], event: SessionEvent): readonly ExpertRun[] {
  switch (event.type) {
    case 'expert.delegation': {
      const { tool_call_id, expert, task, tools, max_iterations } = event.data
      if (tool_call_id === undefined || runs.some(run => run.tool_call_id === tool_call_id)) return runs
      return [
        ...runs,
        {
          tool_call_id,
          expert,
          task,
          tools,
          max_iterations,
          status: 'working',
          outcome: null,
          result_id: null,
          iterations_used: 0,
          tokens: 0,
          cost_usd: 0,
          unpriced: false,
          trace: [],
          rating: null,
        },
      ]
    }
    case 'expert.result':
      return change(runs, run => run.tool_call_id === event.data.tool_call_id, {
        ...ended(event),
        status: 'done',
        outcome: event.data.content,
        result_id: event.id,
      })
    case 'expert.failure':
      return change(runs, run => run.tool_call_id === event.data.tool_call_id, {
        ...ended(event),
        status: 'failed',
        outcome: event.data.error,
      })
    case 'expert.endorse':
    case 'expert.override':
      return event.data.source === 'user'
        ? change(runs, run => run.result_id === event.data.target_event_id, {
            rating: event.data.withdrawn ? null : event.data.rating,
          })
        : runs
    default:
      return runs
  }
}

function ended({ data }: EventOf<'expert.result'> | EventOf<'expert.failure'>): Partial<ExpertRun> {
  return {
    iterations_used: data.iterations_used,
    tokens: (data.input_tokens ?? 0) + (data.output_tokens ?? 0),
    cost_usd: data.cost_usd ?? 0,
    unpriced: data.cost_unpriced_model !== undefined,
    trace: data.trace ?? [],
  }
}

const change = (
  runs: readonly ExpertRun[],
  is: (run: ExpertRun) => boolean,
  to: Partial<ExpertRun>,
): readonly ExpertRun[] => runs.map(run => (is(run) ? { ...run, ...to } : run))
