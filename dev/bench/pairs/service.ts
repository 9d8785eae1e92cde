/**
 * The service of one tree, in a process of its own: argv[2] is a Start. Its modules are loaded by path, so
 * that two trees of different dates can be measured by one driver. It answers a message with what its
 * HTTP thread has used; to `drain`, after everything that was committed is in the search's index.
 */
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as Log from '@cairn/log'
import type * as Protocol from '@cairn/protocol'
import type * as Api from '../../../agent/api/src/index.ts'

/** `indexed`: the search follows the log, as in a service. `url`: of a Postgres store, else embedded. */
export type Start = { tree: string; dir: string; events: number; indexed: boolean; url?: string }
/** `long` holds `events` messages, `watched` is empty. */
export type Ready = { port: number; token: string; sessions: string[]; long: string; watched: string }

const SESSIONS = 64
const { tree, dir, events, indexed, url } = JSON.parse(process.argv[2] ?? '{}') as Start
const load = <T>(path: string): Promise<T> =>
  import(pathToFileURL(join(resolve(tree), 'agent', path)).href) as Promise<T>
const { openPostgresStore, openSqliteStore } = await load<typeof Log>('log/src/index.ts')
const { Config } = await load<typeof Protocol>('protocol/src/index.ts')
const { createApi, mintUserToken } = await load<typeof Api>('api/src/index.ts')
const { commitMessages } = await load<typeof import('../../../agent/api/bench/fill.ts')>('api/bench/fill.ts')
const { openService } =
  await load<typeof import('../../../agent/api/bench/open-service.ts')>('api/bench/open-service.ts')

const store = await (url === undefined
  ? openSqliteStore({ dir: join(dir, 'store') })
  : openPostgresStore({ url }))
const { port, token, newSession } = await openService(store, dir, { Config, createApi, mintUserToken })
const sessions = await Promise.all(Array.from({ length: SESSIONS }, newSession))
const [long, watched] = [await newSession(), await newSession()]
await commitMessages(store, long, events, 'x'.repeat(400))

if (indexed) store.search.follow()
process.on('message', async asked => {
  if (asked === 'drain' && indexed) await store.search.catchUp()
  process.send?.(process.threadCpuUsage())
})
process.on('disconnect', () => process.exit(0))
process.send?.({ port, token, sessions, long, watched } satisfies Ready)
