/** The search of the embedded store: sends queries to its thread, and notifies it when logs have grown. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { AppError, ERRORS, type ErrorCode } from '@cairn/protocol'
import { moduleBeside } from '@cairn/tooling/beside'
import type { SessionStore } from '../../store.ts'
import { followLogs } from '../../resources/search/follow.ts'
import type { SearchPage, SearchStore, UsageRow } from '../../resources/search/row.ts'
import type { ShapeState } from '../../resources/search/shape.ts'
import type { SearchAnswer, SearchAsked, SearchRequest, SearchStart } from './thread.ts'

type Waiting = { resolve: (value: unknown) => void; reject: (error: Error) => void }
type Options = SearchStart & {
  now: () => number
  report: (level: 'warn' | 'error', message: string) => void
  /** Set beside a running server, which owns the index. */
  readOnly: boolean
  watch: SessionStore['watch']
}
export type SqliteSearch = SearchStore & { close(): Promise<void> }

const isCode = (code: string | undefined): code is ErrorCode => code !== undefined && code in ERRORS

export function createSqliteSearch({ path, log, now, report, readOnly, watch }: Options): SqliteSearch {
  const waiting = new Map<number, Waiting>()
  let worker: Worker | null = null
  let asked = 0
  let stopFollowing = (): Promise<void> => Promise.resolve()

  function end(error: Error): void {
    worker = null
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  function settle({ n, value, error }: SearchAnswer): void {
    const found = waiting.get(n)
    waiting.delete(n)
    if (error === undefined) return found?.resolve(value)
    found?.reject(isCode(error.code) ? new AppError(error.code, error.message) : new Error(error.message))
  }
  /** Started on demand, and restarted if it has died. */
  function thread(): Worker {
    if (worker !== null) return worker
    const begun = new Worker(moduleBeside(import.meta, './thread'), {
      workerData: { path, log } satisfies SearchStart,
    })
    begun.on('message', settle)
    begun.on('error', cause => end(new Error('[search] the thread of the index died', { cause })))
    begun.on('exit', () => end(new Error('[search] the index is closed')))
    begun.unref()
    return (worker = begun)
  }
  const ask = (request: SearchRequest): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (readOnly) throw new Error('[search] the store was opened for reading only: ask the server')
      asked += 1
      waiting.set(asked, { resolve, reject })
      thread().postMessage({ n: asked, request } satisfies SearchAsked, [])
    })
  const index = async (ids: readonly string[] | null): Promise<void> => void (await ask({ do: 'index', ids }))

  return {
    follow() {
      stopFollowing = followLogs({
        index,
        watch,
        report: message => report('warn', `indexing failed, trying again: ${message}`),
      })
      return stopFollowing
    },
    catchUp: () => index(null),
    find: async query => (await ask({ do: 'find', query, now: now() })) as SearchPage,
    usage: async query => (await ask({ do: 'usage', query })) as UsageRow[],
    shapes: async ids => (await ask({ do: 'shapes', ids })) as Map<string, ShapeState>,
    behind: async () => (await ask({ do: 'behind' })) as number,
    async close() {
      await stopFollowing()
      if (worker === null) return
      const gone = once(worker, 'exit')
      const last = worker
      // Nothing else may keep the process running until the index is committed.
      last.ref()
      await ask({ do: 'close' }).catch((error: unknown) => report('warn', String(error)))
      await last.terminate()
      await gone
    },
  }
}
