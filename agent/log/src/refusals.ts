/** The guards that can reject a commit. */
import type { InboxItem } from '@cairn/protocol'
import type { SessionRow } from './session.ts'

export const REFUSALS = [
  'no_session',
  'stale_lease',
  'wrong_status',
  'new_work',
  'has_title',
  'question_open',
  'already_answered',
  'no_grant',
  'exists',
  'already_settled',
  'too_many_open',
  'too_many_children',
  'tree_moved',
  'timer_gone',
  'task_moved',
  'mission_moved',
  'research_moved',
  'already_accepted',
  'route_moved',
  'too_many_schedules',
  'schedule_moved',
  'code_run_exists',
  'code_run_ended',
  'browser_moved',
  'control_held',
  'request_answered',
] as const
export type Refusal = (typeof REFUSALS)[number]
/** A guard rejected the commit; nothing of it was written. */
export class CommitRefused extends Error {
  override readonly name = 'CommitRefused'
  readonly refusal: Refusal
  /** The current session, if it exists; for `already_answered` the item too. */
  readonly session: SessionRow | null
  readonly item: InboxItem | null
  constructor(
    refusal: Refusal,
    detail: string,
    session: SessionRow | null = null,
    item: InboxItem | null = null,
  ) {
    super(detail)
    this.refusal = refusal
    this.session = session
    this.item = item
  }
}
