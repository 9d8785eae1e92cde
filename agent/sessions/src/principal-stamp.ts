import type { Decider } from '@cairn/log'
import type { Principal } from '@cairn/protocol'

/** Identifies the principal of an event, with the documented keys (contract 5). */
export function principalStamp(principal: Principal | null): {
  principal_user_id?: string
  principal_service_account_id?: string
} {
  if (principal === null) return {}
  return principal.kind === 'user'
    ? { principal_user_id: principal.id }
    : { principal_service_account_id: principal.id }
}

/** The decider of an item, as its row stores it. */
export const deciderOf = ({ kind, id }: Principal): Decider => ({ kind, id })
