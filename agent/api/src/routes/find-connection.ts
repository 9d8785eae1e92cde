import type { ChannelConnection } from '@cairn/log'
import { AppError, type Principal } from '@cairn/protocol'
import type { Services } from '../deps.ts'

/** A connection of another organisation counts as not found. */
export async function findConnection(
  { store }: Pick<Services, 'store'>,
  { org_id }: Principal,
  id: string,
): Promise<ChannelConnection> {
  const connection = await store.channels.getConnection(id)
  if (connection === null || connection.org_id !== org_id)
    throw new AppError('not_found', 'Channel not found.')
  return connection
}
