/** Formats one event as one line for a person. */
import { type SessionEvent, summarize } from '@cairn/protocol'
import { oneLine } from './terminal-text.ts'

const BRIEF_MAX = 120

/** Id, time, type and the contract's summary; an event that violates its contract shows its data. */
export function eventLine(event: SessionEvent): string {
  const text = summarize(event)
  return (
    `${String(event.id).padStart(5)}  ${event.created_at.slice(11, 23)}  ${event.type.padEnd(24)} ` +
    `${oneLine(text === '{}' ? '' : text, BRIEF_MAX)}`
  ).trimEnd()
}
