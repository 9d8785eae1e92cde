/** Turns a decision about a schedule into a commit of its session. */
import type { Commit, RowChange, SessionRow, StoreSchedule } from '@cairn/log'
import { composeChildEnd } from '../tree/cascade.ts'
import type { Deps } from '../deps.ts'
import { beginRun } from '../schedules/begin-run.ts'
import type { Decision } from '../schedules/pending-decision.ts'
import type { ScheduleSpec } from '../schedules/schedule.ts'
import { rowsOf, runId } from '../schedules/stored.ts'
import { scheduleNotifications } from '../schedules/notifications.ts'

type Composed = Required<Pick<Commit, 'events' | 'rows' | 'also'>> & Pick<Commit, 'reopen' | 'reopen_from'>

export async function compose(
  deps: Deps,
  parent: SessionRow,
  row: StoreSchedule,
  decision: Decision,
  spec?: ScheduleSpec,
): Promise<Composed> {
  const { start, stop } = decision
  const rows: RowChange[] = rowsOf(row, decision, spec)
  const composed: Composed = { events: scheduleNotifications(deps, parent, row, decision), rows, also: [] }
  if (stop !== null) {
    const error = 'Replaced by a newer run.'
    const ending = { as: 'failed', cause: 'cancelled', error } as const
    const end = await composeChildEnd(deps, runId(row.id, stop), ending, 'replaced', { follow: false })
    if (end !== null)
      return withStart({
        events: [...end.parent_events, ...composed.events],
        rows: [...end.rows, ...rows],
        also: end.parts,
        ...end.reopening,
      })
  }
  return withStart(composed)

  function withStart(before: Composed): Composed {
    if (start === null) return before
    const { run_count, last_result } = decision.state
    const begun = beginRun(parent, row, start, run_count, last_result)
    return { ...before, rows: [...before.rows, begun.row], also: [...before.also, begun.part] }
  }
}
