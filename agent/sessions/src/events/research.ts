/** Research events. The only module with their writer. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('research')

export const researchDefined = (data: EventData<'research.defined'>): EventDraft =>
  write('research.defined', data)
export const researchHarvested = (data: EventData<'research.harvested'>): EventDraft =>
  write('research.harvested', data)
export const researchConverged = (data: EventData<'research.converged'>): EventDraft =>
  write('research.converged', data)
