/** Inbox items that ask for an answer to a blocked task. */
import type { InboxItem } from '@cairn/protocol'
import { TASK_BLOCKED } from '@cairn/state'

/** The task of the item; null for every other item. */
export function blockedTaskOf({ kind, payload }: Pick<InboxItem, 'kind' | 'payload'>): string | null {
  const { action_type: type, target } = payload
  return kind === 'action_required' && type === TASK_BLOCKED && typeof target === 'string' ? target : null
}
