/** Lookups of event facts, without schemas so that a thread can load them cheaply. */
import { EVENT_FACTS } from './event-facts.ts'
import type { EventFacts, EventType } from './index.ts'

const NO_FACTS: EventFacts = {}

/** The facts of a type; empty for a type that this version does not know. */
export const factsOf = (type: string): EventFacts =>
  Object.hasOwn(EVENT_FACTS, type) ? EVENT_FACTS[type as EventType] : NO_FACTS

/** Types that have a fact; with `value`, those whose fact equals it. */
export const typesWith = <F extends keyof EventFacts>(fact: F, value?: EventFacts[F]): EventType[] =>
  (Object.keys(EVENT_FACTS) as EventType[]).filter(type => {
    const stated = EVENT_FACTS[type][fact]
    return stated !== undefined && (value === undefined || stated === value)
  })

/**
 * Actions that do not block the session's turns. A blocked task suspends its own worker only, and a goal is
 * blocked after its turn has ended.
 */
const BESIDE_TURNS: readonly unknown[] = ['task_blocked', 'schedule_paused', 'goal_blocked']
/**
 * The actions of BESIDE_TURNS that stay open when the session is stopped: tasks and schedules end by
 * themselves.
 */
export const OUTLIVE_STOP = ['task_blocked', 'schedule_paused'] as const
export const isBesideTurns = (action_type: unknown): boolean => BESIDE_TURNS.includes(action_type)
