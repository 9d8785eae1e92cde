/** Model calls: the answers of the agent, of its advisor, and of an evaluator. */
import type { SessionEvent } from '@cairn/protocol'
import { beginSpan, closeKey, type SpanFold } from './span-fold.ts'
import { isOpen, setFlag } from './spans.ts'

export const MODEL = 'model'

export function foldModel(fold: SpanFold, event: SessionEvent): void {
  switch (event.type) {
    case 'llm.request': {
      const unanswered = fold.open.get(MODEL)
      if (unanswered !== undefined && isOpen(fold.spans, unanswered))
        setFlag(fold.spans, unanswered, 'failed')
      fold.firstTokenAt = 0
      beginSpan(fold, MODEL, { kind: 'model', name: event.data.model ?? '', object: '', event })
      return
    }
    case 'llm.response': {
      // The server's reply to a slash command is not a model call.
      if (event.data.turn_id === undefined) return
      const span = fold.open.get(MODEL)
      if (span !== undefined) fold.spans.first[span] = shareBeforeToken(fold, span, event.data.first_token_ms)
      fold.firstTokenAt = 0
      return closeKey(fold, MODEL, event)
    }
    case 'advisor.request':
      return void beginSpan(fold, 'advisor', {
        kind: 'model',
        name: 'advisor',
        object: event.data.model,
        event,
      })
    case 'advisor.result':
      return closeKey(fold, 'advisor', event)
    case 'advisor.failure':
      return closeKey(fold, 'advisor', event, true)
    case 'span.outcome_evaluation_start':
    case 'mission.evaluation.start':
      return void beginSpan(fold, 'evaluation', { kind: 'model', name: 'evaluation', object: '', event })
    case 'span.outcome_evaluation_end':
    case 'mission.evaluation.end':
      return closeKey(fold, 'evaluation', event, event.data.parse_failed === true)
    default:
  }
}

export function noteToken(fold: SpanFold, at: number): void {
  const span = fold.open.get(MODEL)
  if (fold.firstTokenAt === 0 && span !== undefined && isOpen(fold.spans, span)) fold.firstTokenAt = at
}

/** The part of the call before its first token, in 255ths. Chunks are pruned; the answer states the time. */
function shareBeforeToken(fold: SpanFold, span: number, statedMs: number | undefined): number {
  const from = fold.spans.from[span] ?? fold.at
  const ms = statedMs ?? (fold.firstTokenAt === 0 ? 0 : fold.firstTokenAt - from)
  return Math.round(255 * Math.min(1, Math.max(0, ms / Math.max(1, fold.at - from))))
}
