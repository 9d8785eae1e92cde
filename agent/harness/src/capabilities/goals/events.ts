/** The evaluator's events; the only place that holds their writer. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('evaluator')

export const evaluationStart = (data: EventData<'span.outcome_evaluation_start'>): EventDraft =>
  write('span.outcome_evaluation_start', data)
export const evaluationOngoing = (data: EventData<'span.outcome_evaluation_ongoing'>): EventDraft =>
  write('span.outcome_evaluation_ongoing', data)
export const evaluationEnd = (data: EventData<'span.outcome_evaluation_end'>): EventDraft =>
  write('span.outcome_evaluation_end', data)
export const outcomeContinuation = (data: EventData<'outcome.continuation'>): EventDraft =>
  write('outcome.continuation', data)
