/** Subjects of inbox actions that do not belong to a turn of their session. */
import type { EventData } from '@cairn/protocol'
import { TASK_BLOCKED } from '@cairn/state'
import type { StoredInboxItem } from '../access.ts'
import { SCHEDULE_PAUSED } from '../schedules/notifications.ts'

/** The task that an item asks about; null for any other item. */
export function blockedTaskOf({ kind, payload }: StoredInboxItem): string | null {
  if (kind !== 'action_required') return null
  const { action_type, target } = payload as EventData<'inbox.action_required'>
  return action_type === TASK_BLOCKED ? target : null
}

/** The schedule that the item offers to resume, if any. */
export function pausedScheduleOf({ kind, payload }: StoredInboxItem): string | null {
  if (kind !== 'action_required') return null
  const { action_type, target } = payload as EventData<'inbox.action_required'>
  return action_type === SCHEDULE_PAUSED ? target : null
}
