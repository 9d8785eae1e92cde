/** Event keys that identify who decided an item. */
import type { Principal } from './index.ts'

/** Exactly one of the two keys, by the kind of principal. */
export const deciderKeys = ({ kind, id }: Pick<Principal, 'kind' | 'id'>): DecidedBy =>
  kind === 'user' ? { decided_by_user_id: id } : { decided_by_service_account_id: id }
type DecidedBy = { decided_by_user_id: string } | { decided_by_service_account_id: string }
