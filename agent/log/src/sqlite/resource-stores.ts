/** The resources of the embedded store: reads here, writes through the writer. */
import { runNamed } from '../engine/named-sql.ts'
import type { AskNamed } from '../engine/resource.ts'
import type { CallAnswer, Request } from '../engine/writer-messages.ts'
import {
  mapResources,
  type ResourceName,
  type ResourceReaders,
  type ResourceStores,
} from '../resources/index.ts'
import type { Db } from './adapter.ts'

export const createResourceReaders = (db: Db, now: () => number): ResourceReaders =>
  mapResources(({ sqlite }) => sqlite.reads(db, now)) as ResourceReaders

type Read = (...args: unknown[]) => unknown

/** `send` sends a request to the writer. */
export function createResourceStores(
  db: Db,
  now: () => number,
  send: (request: Request) => Promise<unknown>,
): ResourceStores {
  const readers = createResourceReaders(db, now)
  const stores = mapResources<object>(({ sql, sqlite }, resource: ResourceName) => {
    const run = sql === undefined ? null : runNamed(db, sql)
    const ask: AskNamed = async (name, values) =>
      run !== null && sql?.reads.includes(name) === true
        ? run(name, values)
        : ((await send({ do: 'named', resource, name, values })) as Record<string, unknown>[])
    const write = async (method: string, ...args: unknown[]): Promise<unknown> =>
      ((await send({ do: 'call', resource, method, at: now(), args })) as CallAnswer).value
    const reads = Object.entries(readers[resource] as Record<string, Read>)
    return {
      ...Object.fromEntries(reads.map(([name, read]) => [name, async (...args: unknown[]) => read(...args)])),
      ...sqlite.store?.({ db, now, write, ask }),
    }
  })
  return stores as ResourceStores
}
