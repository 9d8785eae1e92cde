/** Inbox items that ask a person to answer a blocked task. */
import type { InboxItem } from '@cairn/protocol'
import { TASK_BLOCKED } from '@cairn/state'

/** The task that the item asks about; null for every other item. */
export function blockedTaskOf({ kind, payload }: Pick<InboxItem, 'kind' | 'payload'>): string | null {
  const { action_type: type, target } = payload
  return kind === 'action_required' && type === TASK_BLOCKED && typeof target === 'string' ? target : null
}
