/** The events of a mission's rounds; the only place that holds their writer. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('rounds')

export const evaluationStart = (data: EventData<'mission.evaluation.start'>): EventDraft =>
  write('mission.evaluation.start', data)
export const evaluationEnd = (data: EventData<'mission.evaluation.end'>): EventDraft =>
  write('mission.evaluation.end', data)
export const missionContinued = (data: EventData<'mission.continuation'>): EventDraft =>
  write('mission.continuation', data)
