/**
 * Any prefix of any log folds, and resuming from any prefix reaches the same end: recovery is a fold. Logs
 * here are arbitrary sequences of valid payloads, also in orders that no runner writes.
 */
import { expect, test } from 'vitest'
import fc from 'fast-check'
import type { SessionEvent } from '@cairn/protocol'
import {
  emptyConversation,
  emptySessionView,
  emptyTurn,
  foldAdvice,
  foldConversation,
  foldConversationInto,
  foldGoal,
  foldSaga,
  foldProgress,
  foldReview,
  noAdvice,
  noProgress,
  noReview,
  foldSessionView,
  foldTurn,
  foldTurnInto,
  type GoalState,
} from '@cairn/state'
import { anyLog } from './any-log.ts'

const log = anyLog(40)

/** Promise 1: Recovery is the fold: any prefix of a log folds, and resuming from it reaches the same end. */
test('the conversation, turn, goal and saga fold any prefix, and resuming from it reaches the same end', () => {
  fc.assert(
    fc.property(log, fc.nat(), (events, cut) => {
      const at = events.length === 0 ? 0 : cut % (events.length + 1)
      const frozen = structuredClone(events)
      const conversation = events.reduce(foldConversation, emptyConversation)
      const turnEnd = events.reduce(foldTurn, emptyTurn)
      expect(
        events
          .slice(at)
          .reduce(foldConversation, events.slice(0, at).reduce(foldConversation, emptyConversation)),
      ).toEqual(conversation)
      expect(events.slice(at).reduce(foldTurn, events.slice(0, at).reduce(foldTurn, emptyTurn))).toEqual(
        turnEnd,
      )
      const owned = new WeakSet<readonly unknown[]>()
      expect(
        events.reduce((state, event) => foldConversationInto(owned, state, event), emptyConversation),
      ).toEqual(conversation)
      expect(events.reduce((state, event) => foldTurnInto(owned, state, event), emptyTurn)).toEqual(turnEnd)
      const goal = (list: readonly SessionEvent[], from: GoalState = null): GoalState =>
        list.reduce(foldGoal, from)
      expect(goal(events.slice(at), goal(events.slice(0, at)))).toEqual(goal(events))
      expect(events.slice(at).reduce(foldAdvice, events.slice(0, at).reduce(foldAdvice, noAdvice))).toEqual(
        events.reduce(foldAdvice, noAdvice),
      )
      expect(
        events.slice(at).reduce(foldProgress, events.slice(0, at).reduce(foldProgress, noProgress)),
      ).toEqual(events.reduce(foldProgress, noProgress))
      expect(events.slice(at).reduce(foldSaga, events.slice(0, at).reduce(foldSaga, null))).toEqual(
        events.reduce(foldSaga, null),
      )
      expect(events.slice(at).reduce(foldReview, events.slice(0, at).reduce(foldReview, noReview))).toEqual(
        events.reduce(foldReview, noReview),
      )
      expect(events, 'a fold changes no event').toEqual(frozen)
    }),
    { numRuns: 300 },
  )
})

test('the view does not depend on the batches of the log, and a repeated batch changes nothing', () => {
  fc.assert(
    fc.property(log, fc.array(fc.nat({ max: 40 }), { maxLength: 6 }), (events, cuts) => {
      const whole = foldSessionView(emptySessionView, events)
      const edges = [
        0,
        ...cuts.map(cut => Math.min(cut, events.length)).toSorted((a, b) => a - b),
        events.length,
      ]
      let view = emptySessionView
      for (let i = 1; i < edges.length; i++)
        view = foldSessionView(view, events.slice(edges[i - 1], edges[i]))
      expect(view).toEqual(whole)
      expect(foldSessionView(whole, events)).toBe(whole)
    }),
    { numRuns: 300 },
  )
})

test('the model reads no other message between tool calls and their results', () => {
  fc.assert(
    fc.property(log, events => {
      const { entries } = events.reduce(foldConversation, emptyConversation)
      let open = new Set<string>()
      for (const { message } of entries) {
        if (message.role === 'tool') {
          expect(open.delete(message.tool_call_id)).toBe(true)
          continue
        }
        if (message.role === 'user') expect([...open]).toEqual([])
        if (message.role === 'assistant')
          open = new Set([...open, ...(message.tool_calls ?? []).map(call => call.id)])
      }
    }),
    { numRuns: 300 },
  )
})
