/** The only place that holds the writer of the skills. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('skills')

export const skillInvoked = (data: EventData<'skill.invoked'>): EventDraft => write('skill.invoked', data)
