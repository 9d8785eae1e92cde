import type { Refusal } from '../refusals.ts'
import type { StoredItem } from '../resources/inbox/stored-item.ts'
import type { StoredSession } from './session-rows.ts'

/**
 * A rejection by a guard. Not an Error: it is an expected outcome, and a stack trace would cost more than the
 * commit.
 */
export class Refusing {
  readonly refusal: Refusal
  readonly detail: string
  readonly session: StoredSession | null
  readonly item: StoredItem | null
  constructor(
    refusal: Refusal,
    detail: string,
    session: StoredSession | null,
    item: StoredItem | null = null,
  ) {
    this.refusal = refusal
    this.detail = detail
    this.session = session
    this.item = item
  }
}
