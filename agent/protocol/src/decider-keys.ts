/** Who decided, as events name it. */
import type { Principal } from './resources.ts'

/** The keys that name who decided: one of the two. */
export const deciderKeys = ({ kind, id }: Pick<Principal, 'kind' | 'id'>): DecidedBy =>
  kind === 'user' ? { decided_by_user_id: id } : { decided_by_service_account_id: id }
type DecidedBy = { decided_by_user_id: string } | { decided_by_service_account_id: string }
