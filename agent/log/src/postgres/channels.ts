/** Channels on Postgres: every statement in a transaction of its own, on the pool. */
import { CHANNEL_READS } from '../channel-sql.ts'
import { channelStatement, createChannelStore } from '../channel-store.ts'
import type { ChannelStore } from '../channels.ts'
import type { Database } from './connections.ts'

export const createChannels = (db: Database, now: () => number, readOnly: boolean): ChannelStore =>
  createChannelStore((name, values) => {
    const repeatable = CHANNEL_READS.has(name)
    return readOnly && !repeatable
      ? Promise.reject(new Error('[postgres store] it was opened for reading only'))
      : db.query(channelStatement(name), values, { repeatable })
  }, now)
