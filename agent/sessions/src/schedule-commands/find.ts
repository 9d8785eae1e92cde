/** Finds schedules by id, for the system and for principals. */
import type { StoreSchedule } from '@cairn/log'
import { AppError, type Principal } from '@cairn/protocol'
import { findSession } from '../access.ts'
import type { Deps } from '../deps.ts'

export async function readSchedule({ store }: Pick<Deps, 'store'>, id: string): Promise<StoreSchedule> {
  const row = await store.schedules.get(id)
  if (row === null) throw new AppError('not_found', `Schedule ${id} not found.`)
  return row
}

/** A principal sees a schedule if it may see its session. */
export async function findSchedule(
  { store }: Pick<Deps, 'store'>,
  principal: Principal,
  id: string,
): Promise<StoreSchedule> {
  const row = await readSchedule({ store }, id)
  const session = await store.sessions.get(row.session_id)
  if (session === null) throw new AppError('not_found', `Schedule ${id} not found.`)
  await findSession(store, principal, row.session_id).catch((error: unknown) => {
    throw error instanceof AppError ? new AppError('not_found', `Schedule ${id} not found.`) : error
  })
  return row
}
