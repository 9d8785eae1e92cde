/**
 * Budgets as a row of the capabilities: what a session and its descendants may use. Near the end one last
 * call without tools remains, which must answer; past the limit no model is called.
 */
import { budgetOf, deadlineTimer } from '@cairn/sessions'
import { partUsed } from '@cairn/state'
import type { Capability, Claimed } from '../../turn/capability.ts'

/** From this fraction on the next call is the last. */
const LAST_CALL = 0.9

export function budgets({ session }: Claimed): Capability {
  const budget = budgetOf(session)
  if (budget === null) return { name: 'budgets' }
  const { max_minutes } = budget
  return {
    name: 'budgets',
    asks: ({ clock }) => ({
      isOver: ({ spending }) => (partUsed(budget, spending, clock.now()) >= 1 ? 'budget_exhausted' : null),
      isLast: ({ spending }) => partUsed(budget, spending, clock.now()) >= LAST_CALL,
    }),
    /** The time budget counts from the first model call. */
    async beforeRequest(turn) {
      const { answer, request, ended } = turn.log.position()
      const isFirst = answer === null && request === null && ended === null
      if (max_minutes !== undefined && isFirst)
        await turn.log.append([], { rows: [deadlineTimer(session, max_minutes)] })
    },
  }
}
