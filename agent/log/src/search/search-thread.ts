/** The thread of the embedded store's index: indexing and searching take no time of the event loop. */
import { setImmediate as turn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { asError } from '@cairn/protocol/words'
import { createIndexer, type Stretch } from './index-log.ts'
import { findHits, MAX_HITS } from './hits.ts'
import type { Found, SearchPage, SearchQuery, UsageQuery } from './search-store.ts'
import { openSqliteIndex, type SqliteIndex } from './sqlite-index.ts'
import { parseWanted } from './words.ts'

export type SearchStart = { path: string; log: string }
export type SearchRequest =
  | { do: 'index'; ids: readonly string[] | null }
  | { do: 'find'; query: SearchQuery; now: number }
  | { do: 'usage'; query: UsageQuery }
  | { do: 'behind' }
  | { do: 'close' }
export type SearchAsked = { n: number; request: SearchRequest }
export type SearchAnswer = { n: number; value?: unknown; error?: { message: string; code?: string } }

if (parentPort === null) throw new Error('[search-thread] must be started as a worker')
const port = parentPort
const { path, log } = workerData as SearchStart
const index: SqliteIndex = openSqliteIndex(path, log)

const indexer = createIndexer(index.logs, {
  async add(stretch: Stretch): Promise<boolean> {
    // A search that came meanwhile goes first, between stretches.
    await turn()
    return index.add(stretch)
  },
})

async function find(query: SearchQuery, now: number): Promise<SearchPage> {
  const wanted = parseWanted(query.words)
  if (wanted === null) return { found: [], next_cursor: null }
  const { found, next_cursor } = index.find(query, wanted, MAX_HITS, now)
  const shown: (Found | null)[] = []
  for (const { session, spans } of found) shown.push(await findHits(index.logs, session, spans, wanted))
  return { found: shown.filter(each => each !== null), next_cursor }
}

async function serve(request: SearchRequest): Promise<unknown> {
  switch (request.do) {
    case 'index':
      await (request.ids === null
        ? indexer.compare(index.behind(null))
        : indexer.follow(index.behind(request.ids)))
      return null
    case 'find':
      return find(request.query, request.now)
    case 'usage':
      return index.usage(request.query)
    case 'behind':
      return indexer.count(index.behind(null))
    case 'close':
      index.close()
      return null
  }
}

port.on('message', ({ n, request }: SearchAsked) => {
  serve(request).then(
    value => port.postMessage({ n, value } satisfies SearchAnswer),
    (thrown: unknown) => {
      const error = asError(thrown)
      const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
      port.postMessage({ n, error: { message: error.message, ...code } } satisfies SearchAnswer)
    },
  )
})
