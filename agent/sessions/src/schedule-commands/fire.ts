/** A schedule that is due: what its slots come to, in the commit that fires its timer. */
import type { Commit, RowChange, SessionRow, Timer } from '@cairn/log'
import type { Deps } from '../deps.ts'
import { compose } from './compose.ts'
import { decideDue } from '../schedules/decide.ts'
import { scheduleOf } from '../schedules/stored.ts'

/** Of the rules of time zones that this process computes with. */
export const TZ_VERSION = process.versions['tz'] ?? 'unknown'

/** The time is that of the claim, by the clock of the store: those of the processes may differ. */
export async function composeSchedule(
  deps: Deps,
  { id, claim, session_id, claimed_at, data }: Timer,
): Promise<Omit<Commit, 'session_id'>> {
  const fire: RowChange = { do: 'timer.fire', id, claim }
  const { store } = deps
  const [row, parent] = await Promise.all([
    store.coordination.schedule(String(data['id'])),
    store.getSession(session_id),
  ])
  if (row === null || parent === null) return { events: [], rows: [fire] }
  const decision = decideDue(scheduleOf(row), claimed_at, {
    parent: parent.status === 'archived' || parent.status === 'paused' ? parent.status : 'there',
    owner: await ownerOf(deps, parent),
    tz: TZ_VERSION,
  })
  const { events, rows, also } = await compose(deps, parent, row, decision)
  return { events, rows: [fire, ...rows], also, expect_status: [parent.status] }
}

async function ownerOf(
  { store }: Deps,
  { created_by, created_by_kind }: SessionRow,
): Promise<'there' | 'disabled'> {
  if (created_by_kind !== 'user') return 'there'
  const user = await store.accounts.getUser(created_by)
  return user !== null && user.disabled_at !== null ? 'disabled' : 'there'
}
