/** What people, agents and commands do with schedules. Each is one commit of its session. */
import { CommitRefused, type RowChange, type SessionRow, type StoreSchedule } from '@cairn/log'
import {
  AppError,
  type Config,
  type Principal,
  type ScheduleChangeWish,
  type ScheduleWish,
} from '@cairn/protocol'
import { findSession } from '../access.ts'
import { isTreeMoved } from '../over-tree.ts'
import type { Deps } from '../deps.ts'
import { refusedAs } from '../refusals.ts'
import { compose } from './compose.ts'
import { decideCancel, decideManual, decidePause, decideResume } from '../schedules/decide.ts'
import type { Decision } from '../schedules/draft.ts'
import { TZ_VERSION } from './fire.ts'
import { newState, type Schedule, type ScheduleSpec } from '../schedules/schedule.ts'
import { jitterOf, nextSlotOf } from '../schedules/slots.ts'
import { rowsOf, runId, scheduleOf } from '../schedules/stored.ts'
import { shownTiming } from '../schedules/view.ts'
import { changedSpec, invalid, specOf } from '../schedules/wish.ts'

/** Of a schedule that is to be made: the rows for a commit of its session. */
export function composeNew(
  wish: ScheduleWish,
  { id, session, config, now, expires }: NewContext,
): { row: RowChange; shown: ReturnType<typeof shownTiming>; first: number } {
  if (!config.schedules.enabled)
    throw new AppError('wrong_state', 'Schedules are switched off here (schedules.enabled).')
  if (session.parent_id !== null)
    throw invalid('session_id', 'is a session that works for another; schedules belong to those at the top')
  const spec = specOf(wish, { session, config, now, expires })
  const first = nextSlotOf(spec.timing)(now) ?? now
  const next = first + jitterOf(id, spec)
  return {
    shown: shownTiming(spec.timing),
    first: next,
    row: {
      do: 'schedule.add',
      schedule: {
        id,
        session_id: session.id,
        org_id: session.org_id,
        created_by: session.created_by,
        spec,
        state: newState(first, TZ_VERSION),
        due_at: spec.expires_at === null ? next : Math.min(next, spec.expires_at),
      },
      most_of_session: config.schedules.max_per_session,
      most_of_owner: config.schedules.max_per_principal,
    },
  }
}
export type NewContext = {
  id: string
  session: SessionRow
  config: Config
  now: number
  /** Made by an agent or a command: it ends by itself after some days. */
  expires: boolean
}

/** Not of one that is archived. */
const LIVE = ['active', 'paused', 'completed', 'failed'] as const

export async function createSchedule(
  deps: Deps,
  config: Config,
  principal: Principal,
  sessionId: string,
  wish: ScheduleWish,
): Promise<StoreSchedule> {
  const session = await findSession(deps.store, principal, sessionId)
  const id = deps.newId()
  const { row } = composeNew(wish, { id, session, config, now: deps.now(), expires: false })
  try {
    await deps.store.commit({ session_id: sessionId, events: [], rows: [row], expect_status: LIVE })
  } catch (thrown) {
    throw thrown instanceof CommitRefused ? refusedAs('add a schedule to', sessionId, thrown) : thrown
  }
  return readSchedule(deps, id)
}

async function readSchedule({ store }: Pick<Deps, 'store'>, id: string): Promise<StoreSchedule> {
  const row = await store.coordination.schedule(id)
  if (row === null) throw new AppError('not_found', `There is no schedule ${id}.`)
  return row
}

/** Whose session one may not see, of that one sees no schedule. */
export async function findSchedule(
  { store }: Pick<Deps, 'store'>,
  principal: Principal,
  id: string,
): Promise<StoreSchedule> {
  const row = await readSchedule({ store }, id)
  const session = await store.getSession(row.session_id)
  if (session === null) throw new AppError('not_found', `There is no schedule ${id}.`)
  await findSession(store, principal, row.session_id).catch((thrown: unknown) => {
    throw thrown instanceof AppError ? new AppError('not_found', `There is no schedule ${id}.`) : thrown
  })
  return row
}

const TRIES = 10
type Asked = { decision: Decision; spec?: ScheduleSpec }

/** Decided anew as long as others change the schedule. */
async function change(
  deps: Deps,
  id: string,
  decide: (row: StoreSchedule, parent: SessionRow) => Asked | null,
  more: readonly RowChange[] = [],
): Promise<StoreSchedule> {
  for (let tries = 1; ; tries++) {
    const row = await readSchedule(deps, id)
    const parent = await deps.store.getSession(row.session_id)
    const asked = parent === null ? null : decide(row, parent)
    if (parent === null || asked === null) return row
    const { events, rows, also } = await compose(deps, parent, row, asked.decision, asked.spec)
    try {
      await deps.store.commit({ session_id: parent.id, events, rows: [...rows, ...more], also })
      return await readSchedule(deps, id)
    } catch (thrown) {
      if (!(thrown instanceof CommitRefused)) throw thrown
      // A run by hand in the millisecond of another: the next is a later one.
      const isTaken = thrown.refusal === 'exists' || isTreeMoved(thrown.refusal)
      if (!isTaken || tries >= TRIES) throw refusedAs('change the schedule of', parent.id, thrown)
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
    return { decision: decidePause(scheduleOf(row), 'Paused by hand.') }
  })

/** `answered`: rows of the item that asked for it; they are written although somebody resumed it before. */
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
  tell: null,
})

/** For a commit of its session that does more. */
export const cancelRows = (row: StoreSchedule, reason: string): RowChange[] =>
  rowsOf(row, decideCancel(scheduleOf(row), reason))

/** Cancelling twice changes nothing. */
export const cancelSchedule = (
  deps: Deps,
  id: string,
  reason = 'Cancelled by hand.',
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
    const decision = decideManual(scheduleOf(row), deps.now())
    if (decision === null)
      throw new AppError(
        'wrong_state',
        'A run is under way, and this schedule passes over what comes meanwhile (overlap).',
        { extra: { schedule_status: row.status } },
      )
    return { decision }
  })

export const changeSchedule = (
  deps: Deps,
  config: Config,
  id: string,
  wish: ScheduleChangeWish,
): Promise<StoreSchedule> =>
  change(deps, id, (row, session) => {
    if (row.status !== 'active' && row.status !== 'paused') throw wrong(row, 'change')
    const schedule = scheduleOf(row)
    const now = deps.now()
    const spec = changedSpec(schedule.spec, wish, { session, config, now, expires: false })
    const changed = { ...schedule, spec }
    return {
      spec,
      decision:
        row.status === 'paused'
          ? decidePause(changed, schedule.state.reason ?? '')
          : decideResume(changed, now),
    }
  })

/** Of a session that is to be archived; returns the sessions of runs that are under way. */
export async function endSchedules(deps: Deps, session: SessionRow): Promise<string[]> {
  const { coordination } = deps.store
  const running: string[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await coordination.schedules({
      org_id: session.org_id,
      session_id: session.id,
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { id } of page.schedules) {
      const over = await cancelSchedule(deps, id, 'The session it belongs to was archived.')
      const run = scheduleOf(over).state.running
      if (run !== null) running.push(runId(id, run))
    }
    cursor = page.next_cursor
  }
  return running
}
