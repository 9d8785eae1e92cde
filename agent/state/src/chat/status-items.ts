/** Chat lines that each represent one event of the session or its turn. */
import type { EventOf, SessionEvent } from '@cairn/protocol'
import { type ItemOf, placeOf } from './chat-item.ts'

type Line = Pick<ItemOf<'notice'>, 'level' | 'text'>

const info = (text: string): Line => ({ level: 'info', text })
const warning = (text: string): Line => ({ level: 'warning', text })
const error = (text: string): Line => ({ level: 'error', text })

const COMPLETE = {
  budget_exhausted: 'Iteration limit reached.',
  tool_loop: 'Stopped: the same call kept returning the same result.',
  stopped: 'Stopped.',
} as const

/** The chat line of an event; null if it has none. */
export function statusItemOf(event: SessionEvent): ItemOf<'notice'> | null {
  const line = lineOf(event)
  return line === null ? null : { kind: 'notice', ...placeOf(event), type: event.type, ...line }
}

function lineOf(event: SessionEvent): Line | null {
  switch (event.type) {
    case 'advisor.result':
      return event.data.content === '' ? null : info(`Advice from ${event.data.model}: ${event.data.content}`)
    case 'context.compact':
      return compacted(event.data)
    case 'span.outcome_evaluation_end':
      return verdict(event.data)
    case 'saga.compensate':
      return rolledBack(event.data)
    case 'session.pause':
      return info('Paused.')
    case 'session.complete':
      return event.data.reason === 'completed' ? null : warning(COMPLETE[event.data.reason])
    case 'session.fail':
      return error(event.data.error)
    case 'session.stopped':
      return info('Stopped.')
    case 'session.model_escalated':
      return warning(`Switched to ${event.data.model}: ${event.data.reason}.`)
    case 'loop.result': {
      const { outcome, content } = event.data
      return outcome === 'success'
        ? info(`Scheduled run: ${content}`)
        : warning(`Scheduled run (${outcome.replaceAll('_', ' ')}): ${content}`)
    }
    case 'harness.crash':
      return error(`Runtime error: ${event.data.error}`)
    case 'harness.recovered':
      return warning(`Recovered after ${Math.round(event.data.stale_seconds)} s without a runner.`)
    default:
      return null
  }
}

function compacted(data: EventOf<'context.compact'>['data']): Line {
  if (data.strategy === 'clear') return info('Conversation cleared.')
  const { original_message_count: before, compressed_message_count: after } = data
  return info(`Context compacted: ${before} messages became ${after}.`)
}

/** How a goal ended. While the goal continues, the work itself shows it. */
function verdict({ result, explanation }: EventOf<'span.outcome_evaluation_end'>['data']): Line | null {
  switch (result) {
    case 'needs_revision':
    case 'paused':
      return null
    case 'satisfied':
      return info(`Goal reached: ${explanation}`)
    case 'max_iterations_reached':
      return warning(`Goal not reached, no evaluations left: ${explanation}`)
    case 'blocked':
      return warning(`Goal blocked: ${explanation}`)
    case 'failed':
      return error(`Goal failed: ${explanation}`)
  }
}

function rolledBack({ steps_rolled_back, failed_steps = [] }: EventOf<'saga.compensate'>['data']): Line {
  const undone = steps_rolled_back.length
  const text = `Rolled back: ${undone} ${undone === 1 ? 'step' : 'steps'} undone`
  return failed_steps.length > 0
    ? error(`${text}, ${failed_steps.length} could not be undone. This needs your attention.`)
    : warning(`${text}.`)
}
