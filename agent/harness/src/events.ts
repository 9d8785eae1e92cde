/** The events of a runner and its turns; the only place that holds their writers. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const writeWake = writer('wake')
const writeRecovery = writer('sweeper')
const write = writer('turn')

export const sessionWoken = ({
  agent_version,
  ...data
}: {
  worker_id: string
  cursor: number
  agent_version: number | undefined
}): EventDraft<'harness.wake'> =>
  writeWake('harness.wake', agent_version === undefined ? data : { ...data, agent_version })
/** The background review starts (contract 14.13): flags instead of the cursor. */
export const reviewStarted = (data: {
  worker_id: string
  review_memory: boolean
  review_skills: boolean
}): EventDraft<'harness.wake'> => writeWake('harness.wake', data)
export const turnCrashed = (data: EventData<'harness.crash'>): EventDraft => writeWake('harness.crash', data)
export const sessionRecovered = (data: EventData<'harness.recovered'>): EventDraft =>
  writeRecovery('harness.recovered', data)

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
