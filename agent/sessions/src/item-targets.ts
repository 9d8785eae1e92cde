/** What an action in the inbox is about, where that is no turn of its session. */
import type { EventData } from '@cairn/protocol'
import { TASK_BLOCKED } from '@cairn/state'
import type { StoredInboxItem } from './access.ts'
import { SCHEDULE_PAUSED } from './schedules/tell.ts'

/** The task that an item asks a person about; null for every other item. */
export function blockedTaskOf({ kind, payload }: StoredInboxItem): string | null {
  if (kind !== 'action_required') return null
  const { action_type, target } = payload as EventData<'inbox.action_required'>
  return action_type === TASK_BLOCKED ? target : null
}

/** The schedule that waits to be resumed, where the item says so. */
export function pausedScheduleOf({ kind, payload }: StoredInboxItem): string | null {
  if (kind !== 'action_required') return null
  const { action_type, target } = payload as EventData<'inbox.action_required'>
  return action_type === SCHEDULE_PAUSED ? target : null
}
