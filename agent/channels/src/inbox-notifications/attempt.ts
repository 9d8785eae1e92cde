/** One attempt to call a webhook or a push service. */
import { SendFailed } from '../adapter.ts'
import { lostCall } from '../lost-call.ts'

/** Timeout of an attempt: well within the lease. */
export const ATTEMPT_MS = 20_000

/** Egress rules reject a request at every attempt; fetch rejects without a cause for it. */
export function refusedOrLost(who: string, thrown: unknown): SendFailed {
  const cause = thrown instanceof Error ? thrown.cause : undefined
  if (thrown instanceof TypeError && cause === undefined)
    return new SendFailed('permanent', thrown.message, { cause: thrown })
  if (cause instanceof Error && cause.name === 'RefusedAddress')
    return new SendFailed('permanent', `${who} has an internal address, which is not allowed`, {
      cause: thrown,
    })
  return lostCall(who, thrown)
}
