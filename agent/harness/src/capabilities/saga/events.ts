/** The events of sagas; the only place that holds the saga writer. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('saga')

export const sagaStart = (data: EventData<'saga.start'>): EventDraft => write('saga.start', data)
export const stepBegin = (data: EventData<'saga.step_begin'>): EventDraft => write('saga.step_begin', data)
export const stepCommitted = (data: EventData<'saga.step_committed'>): EventDraft =>
  write('saga.step_committed', data)
export const stepFailed = (data: EventData<'saga.step_failed'>): EventDraft => write('saga.step_failed', data)
export const sagaCompensate = (data: EventData<'saga.compensate'>): EventDraft =>
  write('saga.compensate', data)
export const sagaComplete = (data: EventData<'saga.complete'>): EventDraft => write('saga.complete', data)
