/**
 * A turn.summary counts the usage of all events of its turn, however the turn started. The background review
 * belongs to no turn.
 */
import { factsOf, type SessionEvent } from '@cairn/protocol'
import { isReviewWake, addUsage, NO_USAGE, type Usage, usageOf } from '@cairn/state'

const KEYS = ['input_tokens', 'output_tokens', 'cost_usd'] as const

/** Tolerance for sums of floats, which differ in their last digits. */
const isSame = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a))

export function usageRules(): (event: SessionEvent) => Iterable<string> {
  let awake = false
  let used: Usage = NO_USAGE

  return function* check(event) {
    switch (event.type) {
      case 'harness.wake':
        if (!isReviewWake(event)) awake = true
        return
      case 'session.complete':
      case 'session.fail':
      case 'session.stopped':
      case 'outcome.continuation':
      case 'mission.continuation':
        awake = false
        used = NO_USAGE
        return
      case 'turn.summary':
        for (const key of KEYS) {
          const counted = event.data[key]
          if (counted !== undefined && !isSame(counted, used[key]))
            yield `${key} is ${counted}, and the events of its turn sum to ${used[key]}`
        }
        return
      // The end of a background review, possibly during a turn.
      case 'inbox.task_complete':
        return
      default:
        if (awake && factsOf(event.type).usage) used = addUsage(used, usageOf(event))
    }
  }
}
