/**
 * Commands on schedules, for people, agents and the command line. Each is one commit of the schedule's
 * session.
 */
import { CommitRefused, type RowChange, type SessionRow, type StoreSchedule } from '@cairn/log'
import { AppError, type Config, type ScheduleChangeInput } from '@cairn/protocol'
import { isTreeMoved } from '../tree/commit-tree.ts'
import type { Deps } from '../deps.ts'
import { refusedAs } from '../refusals.ts'
import { decideCancel, decideChange, decideManual, decidePause, decideResume } from '../schedules/decide.ts'
import { type Decision, isSpent } from '../schedules/pending-decision.ts'
import type { Schedule, ScheduleSpec } from '../schedules/schedule.ts'
import { rowsOf, scheduleOf } from '../schedules/schedule-rows.ts'
import { changedSpec } from '../schedules/parse-schedule.ts'
import { compose } from './compose.ts'
import { readSchedule } from './find.ts'
import { parentState } from './fire.ts'

const TRIES = 10
type RequestedChange = { decision: Decision; spec?: ScheduleSpec }

/** Decides again while others change the schedule. */
async function change(
  deps: Deps,
  id: string,
  decide: (row: StoreSchedule, parent: SessionRow) => RequestedChange | null,
  more: readonly RowChange[] = [],
): Promise<StoreSchedule> {
  for (let tries = 1; ; tries++) {
    const row = await readSchedule(deps, id)
    const parent = await deps.store.sessions.get(row.session_id)
    const requested = parent === null ? null : decide(row, parent)
    if (parent === null || requested === null) return row
    const { rows, ...composed } = await compose(deps, parent, row, requested.decision, requested.spec)
    try {
      await deps.store.commit({ session_id: parent.id, ...composed, rows: [...rows, ...more] })
      return await readSchedule(deps, id)
    } catch (error) {
      if (!(error instanceof CommitRefused)) throw error
      // Another manual run has the same millisecond as its key: retry with a later one.
      const isTaken = error.refusal === 'exists' || isTreeMoved(error.refusal)
      if (!isTaken || tries >= TRIES) throw refusedAs('change the schedule of', parent.id, error)
    }
  }
}

const wrong = (row: StoreSchedule, what: string): AppError => {
  const { reason } = scheduleOf(row).state
  return new AppError(
    'wrong_state',
    `Cannot ${what} a schedule that is ${row.status}${reason === null ? '' : `: ${reason}`}`,
    { extra: { schedule_status: row.status } },
  )
}

export const pauseSchedule = (deps: Deps, id: string): Promise<StoreSchedule> =>
  change(deps, id, row => {
    if (row.status !== 'active') throw wrong(row, 'pause')
    return { decision: decidePause(scheduleOf(row), 'Paused by a user.', deps.now()) }
  })

/**
 * `answered`: rows of the item that asked for it. They are written even if the schedule was resumed before.
 */
export const resumeSchedule = (
  deps: Deps,
  id: string,
  answered: readonly RowChange[] = [],
): Promise<StoreSchedule> =>
  change(
    deps,
    id,
    row => {
      const schedule = scheduleOf(row)
      if (row.status === 'paused') return { decision: decideResume(schedule, deps.now()) }
      if (answered.length === 0) throw wrong(row, 'resume')
      return { decision: { ...unchanged(schedule), due_at: row.due_at } }
    },
    answered,
  )

const unchanged = ({ status, state }: Schedule): Decision => ({
  status,
  state,
  due_at: null,
  rows: [],
  start: null,
  stop: null,
  notify: null,
})

/** For a commit of its session that does more. */
export const cancelRows = (row: StoreSchedule, reason: string): RowChange[] =>
  rowsOf(row, decideCancel(scheduleOf(row), reason))

/** Cancelling twice changes nothing. */
export const cancelSchedule = (
  deps: Deps,
  id: string,
  reason = 'Cancelled by a user.',
): Promise<StoreSchedule> =>
  change(deps, id, row =>
    row.status === 'active' || row.status === 'paused'
      ? { decision: decideCancel(scheduleOf(row), reason) }
      : null,
  )

export const runSchedule = (deps: Deps, id: string): Promise<StoreSchedule> =>
  change(deps, id, (row, parent) => {
    if ((row.status !== 'active' && row.status !== 'paused') || parent.status === 'archived')
      throw wrong(row, 'run')
    const schedule = scheduleOf(row)
    if (isSpent(schedule))
      throw new AppError(
        'wrong_state',
        `The schedule has reached its limit of ${schedule.spec.max_runs} runs (max_runs).`,
        {
          extra: { schedule_status: row.status },
        },
      )
    const decision = decideManual(schedule, deps.now())
    if (decision === null)
      throw new AppError(
        'wrong_state',
        'A run is active, and this schedule skips runs that overlap (overlap).',
        { extra: { schedule_status: row.status } },
      )
    return { decision }
  })

export const changeSchedule = (
  deps: Deps,
  config: Config,
  id: string,
  input: ScheduleChangeInput,
): Promise<StoreSchedule> =>
  change(deps, id, (row, session) => {
    if (row.status !== 'active' && row.status !== 'paused') throw wrong(row, 'change')
    const schedule = scheduleOf(row)
    const now = deps.now()
    const spec = changedSpec(schedule.spec, input, { session, config, now, expires: false })
    return { spec, decision: decideChange(schedule, spec, now, parentState(session)) }
  })

/** For a session that is about to be archived. */
export async function endSchedules(deps: Deps, session: SessionRow): Promise<void> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await deps.store.schedules.list({
      org_id: session.org_id,
      session_id: session.id,
      status: ['active', 'paused'],
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { id } of page.schedules)
      await cancelSchedule(deps, id, 'The session of this schedule was archived.')
    cursor = page.next_cursor
  }
}
