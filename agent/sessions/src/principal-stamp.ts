import type { Principal } from '@cairn/protocol'

/** The stamp of who acted, under the documented keys (contract 5). */
export function principalStamp(principal: Principal | null): {
  principal_user_id?: string
  principal_service_account_id?: string
} {
  if (principal === null) return {}
  return principal.kind === 'user'
    ? { principal_user_id: principal.id }
    : { principal_service_account_id: principal.id }
}
