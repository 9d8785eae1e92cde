/** What the contract's rows state of a type; without schemas, so a thread loads no more. */
import { EVENT_FACTS } from './event-facts.ts'
import type { EventFacts, EventType } from './events.ts'

const NO_FACTS: EventFacts = {}

/** The facts of a type; of a name that this version does not know, none. */
export const factsOf = (type: string): EventFacts =>
  Object.hasOwn(EVENT_FACTS, type) ? EVENT_FACTS[type as EventType] : NO_FACTS

/** The types for which a fact is stated; with `value`, those for which it is that. */
export const typesWith = <F extends keyof EventFacts>(fact: F, value?: EventFacts[F]): EventType[] =>
  (Object.keys(EVENT_FACTS) as EventType[]).filter(type => {
    const stated = EVENT_FACTS[type][fact]
    return stated !== undefined && (value === undefined || stated === value)
  })

/**
 * Actions that a person is asked for beside the turns of the session: none waits for them. A blocked task
 * suspends its own worker alone, and a goal is blocked when its turn is over.
 */
const BESIDE_TURNS: readonly unknown[] = ['task_blocked', 'schedule_paused', 'goal_blocked']
/** Of these, the actions that a stop of the session leaves open: tasks and schedules end by themselves. */
export const OUTLIVE_STOP = ['task_blocked', 'schedule_paused'] as const
export const isBesideTurns = (action_type: unknown): boolean => BESIDE_TURNS.includes(action_type)
