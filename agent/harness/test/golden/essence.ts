/**
 * What happened in a session, without what the death of a worker may leave behind: wakes, recoveries,
 * attempts, chunks, ids, and an outcome that nobody knows with all that depends on it.
 */
import type { SessionEvent } from '@cairn/protocol'

export const essence = (events: readonly SessionEvent[]): unknown[] =>
  JSON.parse(JSON.stringify(happened(events)).replaceAll(/call_[0-9a-f]{20}/g, 'call')) as unknown[]

function happened(events: readonly SessionEvent[]): unknown[] {
  return events.flatMap((event): unknown[] => {
    switch (event.type) {
      case 'harness.wake':
      case 'harness.recovered':
      case 'llm.delta':
      case 'llm.request':
      case 'llm.heartbeat':
        return []
      case 'user.message':
        return [['message', event.data.synthetic, event.data.content]]
      case 'llm.response':
        return [
          [
            'answer',
            event.data.message.content,
            event.data.message.tool_calls?.map(made => made.function),
            event.data.iteration_index,
            event.data.finish_reason,
          ],
        ]
      case 'tool.call':
        return [['call', event.data.name, event.data.arguments]]
      case 'tool.result':
        return [['result', event.data.name]]
      case 'iteration.summary':
        return [['iteration', event.data.iteration_index]]
      case 'turn.summary':
        return [['turn', event.data.iterations, event.data.artifacts.map(artifact => artifact.label)]]
      case 'todo.updated':
        return [['plan', event.data.todos]]
      case 'skill.invoked':
        return [['skill', event.data.skill, event.data.expanded, event.data.staged_at]]
      case 'span.outcome_evaluation_end':
        return [['verdict', event.data.iteration, event.data.result]]
      case 'mission.evaluation.end':
        return [['verdict', event.data.trigger, event.data.iteration, event.data.result]]
      case 'research.harvested':
        return [['harvest', event.data.folded.toSorted(), event.data.scores]]
      case 'outcome.continuation':
      case 'mission.continuation':
        return [['continuation', event.data.iteration]]
      case 'context.compact':
        return [
          [
            'compact',
            event.data.reason,
            event.data.original_message_count,
            event.data.compressed_message_count,
            event.data.compacted_messages,
          ],
        ]
      case 'expert.result':
      case 'expert.failure':
        return ['the expert is done']
      // Only where there is a result of an expert can it be rated.
      case 'expert.endorse':
      case 'expert.override':
        return []
      case 'user.feedback':
        return [['rated', event.data.rating, event.data.source]]
      // A step with an unknown outcome is not undone; that all others are, once and in their order, is a rule
      // of every log.
      case 'saga.step_begin':
        return event.data.state === 'executing' ? [['step', event.data.tool_name]] : []
      case 'saga.step_committed':
      case 'saga.step_failed':
        return event.data.state === 'committed' || event.data.state === 'failed'
          ? [['step over', event.data.tool_name]]
          : []
      case 'session.complete':
        return [['complete', event.data.reason]]
      case 'session.fail':
        return [['failed', event.data.error_category]]
      case 'session.resume':
        return [['resumed', event.data.source]]
      case 'session.model_escalated':
        return [['escalated', event.data.model]]
      default:
        return [event.type]
    }
  })
}

/** Parallel reads may land in either order; everything else is ordered. */
export const sorted = (log: readonly unknown[]): string[] =>
  log.map(entry => JSON.stringify(entry)).toSorted()
