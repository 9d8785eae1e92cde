/** Creates a schedule: the rows for a commit of its session that may do more, and that commit itself. */
import { CommitRefused, type RowChange, type SessionRow, type StoreSchedule } from '@cairn/log'
import { AppError, type Config, type Principal, type ScheduleInput } from '@cairn/protocol'
import { findSession } from '../access.ts'
import type { Deps } from '../deps.ts'
import { refusedAs } from '../refusals.ts'
import { newState } from '../schedules/schedule.ts'
import { jitterOf, nextScheduledTimeOf } from '../schedules/scheduled-times.ts'
import { shownTiming } from '../schedules/view.ts'
import { specOf } from '../schedules/parse-schedule.ts'
import { readSchedule } from './find.ts'

/** Rows that create the schedule, for a commit of its session. */
export function composeNew(
  input: ScheduleInput,
  { id, session, config, now, expires }: NewContext,
): { row: RowChange; shown: ReturnType<typeof shownTiming>; first: number } {
  if (!config.schedules.enabled)
    throw new AppError('wrong_state', 'Schedules are off on this server (schedules.enabled).')
  if (session.parent_id !== null)
    throw new AppError(
      'wrong_state',
      'A worker cannot have a schedule: create it in a session without a parent.',
      { extra: { parent_id: session.parent_id } },
    )
  const spec = specOf(input, { session, config, now, expires })
  const first = nextScheduledTimeOf(spec.timing)(now) ?? now
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
        state: newState(first),
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
  /** Set if an agent or a command created it: it ends by itself after some days. */
  expires: boolean
}

/** Any status except archived. */
const LIVE = ['active', 'paused', 'completed', 'failed'] as const

export async function createSchedule(
  deps: Deps,
  config: Config,
  principal: Principal,
  sessionId: string,
  input: ScheduleInput,
): Promise<StoreSchedule> {
  const session = await findSession(deps.store, principal, sessionId)
  const id = deps.newId()
  const { row } = composeNew(input, { id, session, config, now: deps.now(), expires: false })
  try {
    await deps.store.commit({ session_id: sessionId, events: [], rows: [row], expect_status: LIVE })
  } catch (error) {
    throw error instanceof CommitRefused ? refusedAs('add a schedule to', sessionId, error) : error
  }
  return readSchedule(deps, id)
}
