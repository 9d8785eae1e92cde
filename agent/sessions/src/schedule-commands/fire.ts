/** Fires a due schedule: decides its due times, in the commit that fires its timer. */
import type { Commit, RowChange, SessionRow, Timer } from '@cairn/log'
import type { Deps } from '../deps.ts'
import { compose } from './compose.ts'
import { decideDue } from '../schedules/decide.ts'
import type { ScheduleContext } from '../schedules/pending-decision.ts'
import { scheduleOf } from '../schedules/schedule-rows.ts'

/** The time is that of the claim, by the store's clock: the clocks of processes may differ. */
export async function composeSchedule(
  deps: Deps,
  { id, claim, session_id, claimed_at, data }: Timer,
): Promise<Omit<Commit, 'session_id'>> {
  const fire: RowChange = { do: 'timer.fire', id, claim }
  const { store } = deps
  const [row, parent] = await Promise.all([
    store.schedules.get(String(data['id'])),
    store.sessions.get(session_id),
  ])
  if (row === null || parent === null) return { events: [], rows: [fire] }
  const decision = decideDue(scheduleOf(row), claimed_at, {
    parent: parentState(parent),
    owner: await ownerOf(deps, parent, claimed_at),
  })
  const { rows, ...composed } = await compose(deps, parent, row, decision)
  return { ...composed, rows: [fire, ...rows], expect_status: [parent.status] }
}

export const parentState = ({ status }: SessionRow): ScheduleContext['parent'] =>
  status === 'archived' || status === 'paused' ? status : 'open'

/** The rule for logins applies. Account rows are never deleted, so an owner without a row is not disabled. */
async function ownerOf(
  { store }: Deps,
  { created_by, created_by_kind }: SessionRow,
  now: number,
): Promise<ScheduleContext['owner']> {
  if (created_by_kind === 'user') {
    const user = await store.accounts.getUser(created_by)
    return user !== null && user.disabled_at !== null ? 'disabled' : 'enabled'
  }
  const account = await store.accounts.getServiceAccount(created_by)
  if (account === null) return 'enabled'
  const isExpired = account.expires_at !== null && account.expires_at <= now
  return account.revoked_at !== null || isExpired ? 'disabled' : 'enabled'
}
