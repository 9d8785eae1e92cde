/** The board that the sessions of a tree share. */
import { viewBoard } from '@cairn/sessions'
import type { Handler } from '../handler.ts'

export const getBoard: Handler<'getBoard'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  return viewBoard(services, params.id)
}
