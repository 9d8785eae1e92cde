/** The advisor's events; the only place that holds their writer. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('advisor')

export const advisorRequest = (data: EventData<'advisor.request'>): EventDraft =>
  write('advisor.request', data)
export const advisorResult = (data: EventData<'advisor.result'>): EventDraft => write('advisor.result', data)
export const advisorFailure = (data: EventData<'advisor.failure'>): EventDraft =>
  write('advisor.failure', data)
