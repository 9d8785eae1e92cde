/** The goal of a session (docs/goals.md). */
import { viewGoal } from '@cairn/sessions'
import type { Handler } from '../handler.ts'

export const getGoal: Handler<'getGoal'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  return { goal: await viewGoal(services.store, params.id) }
}
