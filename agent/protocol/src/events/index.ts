/**
 * The contract of Cairn Agent: the table of all event types that a session log may hold, one file per family.
 *
 * Types, validators, docs/events.md and the OpenAPI components derive from this table; a pin test keeps its
 * names and documented keys. Each row states the producer (exactly one, or `none`), when it writes the event,
 * the documented keys (`keys`, a stable promise), our additional keys (`extra`, which may grow at any time),
 * the facts that folds and projections derive from (`EventFacts`), what the model reads of the event, and its
 * summary for people. Source: docs/contract.md, 14.
 *
 * Validation is strict for writers and loose for readers: new keys may appear at any time.
 */
import type { z } from 'zod'
import { ARTIFACT_EVENTS } from './artifacts.ts'
import { BROWSER_EVENTS } from './browser.ts'
import { CODE_EVENTS } from './code.ts'
import { CONVERSATION_EVENTS } from './conversation.ts'
import { COORDINATION_EVENTS } from './coordination.ts'
import { EXPERT_EVENTS } from './experts.ts'
import { GOAL_EVENTS } from './goals.ts'
import { GOVERNANCE_EVENTS } from './governance.ts'
import { INBOX_EVENTS } from './inbox.ts'
import { LIFECYCLE_EVENTS } from './lifecycle.ts'
import { MISSION_EVENTS } from './missions.ts'
import { PLAN_EVENTS } from './plan.ts'
import { RESERVED_EVENTS } from './reserved.ts'
import { SAGA_EVENTS } from './saga.ts'
import { SCHEDULE_EVENTS } from './schedules.ts'
import { TOOL_EVENTS } from './tools.ts'
import type { Producer } from './row.ts'

export * from './row.ts'
export * from './shapes.ts'

export const EVENTS = {
  ...CONVERSATION_EVENTS,
  ...TOOL_EVENTS,
  ...PLAN_EVENTS,
  ...COORDINATION_EVENTS,
  ...MISSION_EVENTS,
  ...GOVERNANCE_EVENTS,
  ...SAGA_EVENTS,
  ...EXPERT_EVENTS,
  ...GOAL_EVENTS,
  ...INBOX_EVENTS,
  ...BROWSER_EVENTS,
  ...CODE_EVENTS,
  ...LIFECYCLE_EVENTS,
  ...ARTIFACT_EVENTS,
  ...SCHEDULE_EVENTS,
  ...RESERVED_EVENTS,
} as const

export type EventType = keyof typeof EVENTS
export const EVENT_TYPES = Object.keys(EVENTS) as EventType[]

/** The payload of a type as its writer must supply it. */
export type EventData<T extends EventType> = z.input<(typeof EVENTS)[T]['write']>
/** The payload of a type as a reader gets it: the known keys, possibly with others. */
export type ReadData<T extends EventType> = z.output<(typeof EVENTS)[T]['read']>
/** The types that a producer may write. */
export type WrittenBy<P extends Producer> = {
  [T in EventType]: (typeof EVENTS)[T]['producer'] extends P ? T : never
}[EventType]

export const isEventType = (type: string): type is EventType => Object.hasOwn(EVENTS, type)
