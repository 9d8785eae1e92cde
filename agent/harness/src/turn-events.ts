/** The events of a turn; the only place that holds the turn writer. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('turn')

export const llmRequest = (data: EventData<'llm.request'>): EventDraft => write('llm.request', data)
export const llmDelta = (data: EventData<'llm.delta'>): EventDraft => write('llm.delta', data)
export const llmHeartbeat = (data: EventData<'llm.heartbeat'>): EventDraft => write('llm.heartbeat', data)
export const llmThinking = (data: EventData<'llm.thinking'>): EventDraft => write('llm.thinking', data)
export const llmResponse = (data: EventData<'llm.response'>): EventDraft => write('llm.response', data)
export const iterationSummary = (data: EventData<'iteration.summary'>): EventDraft =>
  write('iteration.summary', data)
export const turnSummary = (data: EventData<'turn.summary'>): EventDraft => write('turn.summary', data)
export const contextCompact = (data: EventData<'context.compact'>): EventDraft =>
  write('context.compact', data)
export const modelEscalated = (data: EventData<'session.model_escalated'>): EventDraft =>
  write('session.model_escalated', data)
