/** Turns a decision about a schedule into a commit of its session, which also stops a replaced run. */
import type { Commit, SessionRow, StoreSchedule } from '@cairn/log'
import type { Deps } from '../deps.ts'
import { applyDecision } from '../schedules/apply-decision.ts'
import type { Decision } from '../schedules/pending-decision.ts'
import type { ScheduleSpec } from '../schedules/schedule.ts'
import { runId } from '../schedules/schedule-rows.ts'
import { composeChildEnd } from '../tree/end-tree.ts'

type Composed = Required<Pick<Commit, 'events' | 'rows' | 'also'>> & Pick<Commit, 'reopen' | 'reopen_from'>

export async function compose(
  deps: Deps,
  parent: SessionRow,
  row: StoreSchedule,
  decision: Decision,
  spec?: ScheduleSpec,
): Promise<Composed> {
  const { events, rows, parts } = applyDecision(deps, parent, row, decision, spec)
  const { stop } = decision
  const ending = { as: 'failed', cause: 'cancelled', error: 'Replaced by a newer run.' } as const
  const end =
    stop === null
      ? null
      : await composeChildEnd(deps, runId(row.id, stop), ending, 'replaced', { follow: false })
  if (end === null) return { events, rows, also: parts }
  return {
    events: [...end.parent_events, ...events],
    rows: [...end.rows, ...rows],
    also: [...end.parts, ...parts],
    ...end.reopening,
  }
}
