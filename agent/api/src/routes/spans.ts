/** The log of a session as spans. */
import { packSpans } from '@cairn/state'
import type { Handler } from '../handler.ts'

export const sessionSpans: Handler<'sessionSpans'> = async ({ services, principal, params, query }) => {
  const session = await services.guard.load(principal, params.id)
  const { from, to, depth } = query
  return packSpans(session.id, await services.spans.read(session), { from, to, depth })
}
