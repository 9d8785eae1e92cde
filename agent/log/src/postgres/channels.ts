/** Channels on Postgres: every statement is a transaction of its own, on the pool. */
import type { AskChannel } from '../ask-channel.ts'
import { CHANNEL_READS } from '../channel-sql.ts'
import { type BrowserStore, createBrowserStore } from '../browsers.ts'
import { channelStatement, createChannelStore } from '../channel-store.ts'
import type { ChannelStore } from '../channels.ts'
import { createNotificationStore, type NotificationStore } from '../notifications.ts'
import type { Database } from './connections.ts'

/** Channels, browsers and notifications, whose statements run by name. */
export function createNamedStores(
  db: Database,
  now: () => number,
  readOnly: boolean,
): { channels: ChannelStore; browsers: BrowserStore; notifications: NotificationStore } {
  const ask: AskChannel = (name, values) => {
    const repeatable = CHANNEL_READS.has(name)
    return readOnly && !repeatable
      ? Promise.reject(new Error('[postgres store] it was opened for reading only'))
      : db.query(channelStatement(name), values, { repeatable })
  }
  return {
    channels: createChannelStore(ask, now),
    browsers: createBrowserStore(ask, now),
    notifications: createNotificationStore(ask, now),
  }
}
