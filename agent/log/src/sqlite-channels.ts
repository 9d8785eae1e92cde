/** Channels on the embedded store: reads here, writes through the writer. */
import { CHANNEL_READS, CHANNEL_SQL, type ChannelStatement } from './channel-sql.ts'
import { type AskChannel, type ChannelValue, createChannelStore } from './channel-store.ts'
import type { ChannelStore } from './channels.ts'
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

export function createChannels(
  db: Db,
  now: () => number,
  write: (request: Request) => Promise<unknown>,
): ChannelStore {
  const read = runChannelSql(db)
  const ask: AskChannel = async (name, values) =>
    CHANNEL_READS.has(name)
      ? read(name, values)
      : ((await write({ do: 'channel', name, values })) as Record<string, unknown>[])
  return createChannelStore(ask, now)
}
