/** Events of people's actions on a mission. The only module with the missions writer. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('missions')

export const missionDefined = (data: EventData<'mission.defined'>): EventDraft<'mission.defined'> =>
  write('mission.defined', data)
export const missionPaused = (data: EventData<'mission.paused'>): EventDraft<'mission.paused'> =>
  write('mission.paused', data)
export const missionResumed = (data: EventData<'mission.resumed'>): EventDraft<'mission.resumed'> =>
  write('mission.resumed', data)
export const missionCancelled = (data: EventData<'mission.cancelled'>): EventDraft<'mission.cancelled'> =>
  write('mission.cancelled', data)
