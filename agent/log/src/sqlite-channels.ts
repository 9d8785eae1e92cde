/** Channels on the embedded store: reads here, writes through the writer. */
import type { AskChannel, ChannelValue } from './ask-channel.ts'
import { type BrowserStore, createBrowserStore } from './browsers.ts'
import { CHANNEL_READS, CHANNEL_SQL, type ChannelStatement } from './channel-sql.ts'
import { createChannelStore } from './channel-store.ts'
import type { ChannelStore } from './channels.ts'
import { createNotificationStore, type NotificationStore } from './notifications.ts'
import type { Db, Statement } from './sqlite-adapter.ts'
import type { Request } from './writer-messages.ts'

/** Runs a statement by its name on one connection, prepared at its first use. */
export function runChannelSql(
  db: Db,
): (name: ChannelStatement, values: readonly ChannelValue[]) => Record<string, unknown>[] {
  const prepared = new Map<ChannelStatement, Statement>()
  return (name, values) => {
    let statement = prepared.get(name)
    if (statement === undefined) prepared.set(name, (statement = db.prepare(CHANNEL_SQL[name])))
    return statement.all(Object.fromEntries(values.map((value, at) => [`$${at + 1}`, value])))
  }
}

function asking(db: Db, write: (request: Request) => Promise<unknown>): AskChannel {
  const read = runChannelSql(db)
  return async (name, values) =>
    CHANNEL_READS.has(name)
      ? read(name, values)
      : ((await write({ do: 'channel', name, values })) as Record<string, unknown>[])
}

/** Channels, browsers and notifications, whose statements run by name. */
export function createNamedStores(
  db: Db,
  now: () => number,
  write: (request: Request) => Promise<unknown>,
): { channels: ChannelStore; browsers: BrowserStore; notifications: NotificationStore } {
  const ask = asking(db, write)
  return {
    channels: createChannelStore(ask, now),
    browsers: createBrowserStore(ask, now),
    notifications: createNotificationStore(ask, now),
  }
}
