/** Inbox items about schedules. */
import type { EventWithRows, SessionRow, StoreSchedule } from '@cairn/log'
import { cutAt } from '@cairn/protocol'
import type { Deps } from '../deps.ts'
import { createActionItem, createTaskCompleteItem } from '../inbox/create-item.ts'
import type { Decision } from './pending-decision.ts'
import { LAST_RESULT_CHARS } from './schedule.ts'
import { scheduleOf } from './schedule-rows.ts'

export const SCHEDULE_PAUSED = 'schedule_paused'

/** The inbox items of a decision; none if the session is archived. */
export function scheduleNotifications(
  deps: Deps,
  parent: SessionRow,
  row: StoreSchedule,
  { notify, state }: Pick<Decision, 'notify' | 'state'>,
): EventWithRows[] {
  if (notify === null || parent.status === 'archived') return []
  const { spec } = scheduleOf(row)
  const name = spec.name ?? spec.prompt
  if (notify === 'missed')
    return [
      createTaskCompleteItem(deps, {
        session_title: parent.title,
        outcome: 'missed',
        duration_seconds: 0,
        summary: `Missed run of "${name}": no runner was available, and catch-up is off.`,
      }).event,
    ]
  return [
    createActionItem(deps, {
      title: `Schedule paused: ${name}`,
      instructions: cutAt(state.last_result ?? state.reason ?? '', LAST_RESULT_CHARS),
      context: 'Mark this as done to resume the schedule from now on.',
      action_type: SCHEDULE_PAUSED,
      target: row.id,
      reason: state.reason ?? '',
    }).event,
  ]
}
