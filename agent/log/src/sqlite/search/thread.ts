/** The thread of the embedded store's index: indexing and searching do not block the event loop. */
import { getPriority, setPriority } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { asError } from '@cairn/protocol/words'
import { countBehind, indexLogs, type IndexTarget } from '../../resources/search/index-log.ts'
import { findHits, MAX_HITS } from '../../resources/search/hits.ts'
import type { Found, SearchPage, SearchQuery, UsageQuery } from '../../resources/search/row.ts'
import { openSqliteIndex, type SqliteIndex } from './index.ts'
import { parseWanted } from '../../resources/search/words.ts'

/** Gives the thread a third of the CPU share of one without. */
const NICE = 5
const MAX_NICE = 19

export type SearchStart = { path: string; log: string }
export type SearchRequest =
  | { do: 'index'; ids: readonly string[] | null }
  | { do: 'find'; query: SearchQuery; now: number }
  | { do: 'usage'; query: UsageQuery }
  | { do: 'shapes'; ids: readonly string[] }
  | { do: 'behind' }
  | { do: 'close' }
export type SearchAsked = { n: number; request: SearchRequest }
export type SearchAnswer = { n: number; value?: unknown; error?: { message: string; code?: string } }

if (parentPort === null) throw new Error('[search-thread] must be started as a worker')
// On Linux the priority applies to this thread alone: on a busy machine, turns go before indexing. It is
// relative, because only root may raise the priority of a service that was started with a lower one.
if (process.platform === 'linux') setPriority(Math.min(MAX_NICE, getPriority() + NICE))
const port = parentPort
const { path, log } = workerData as SearchStart
const index: SqliteIndex = openSqliteIndex(path, log)

const target: IndexTarget = {
  async add(stretch) {
    // Waiting searches go first, between ranges.
    await turn()
    return index.add(stretch)
  },
  shapes: index.shapes,
}

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
      try {
        await indexLogs(index.logs, target, index.behind(request.ids))
      } finally {
        index.commit()
      }
      return null
    case 'find':
      return find(request.query, request.now)
    case 'usage':
      return index.usage(request.query)
    case 'shapes':
      return index.shapes(request.ids)
    case 'behind':
      return countBehind(index.logs, index.behind(null))
    case 'close':
      index.commit()
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
