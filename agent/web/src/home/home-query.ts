/** The data of the first page, read again while sessions and items change. */
import { type QueryClient, queryOptions, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { AnswerOf } from '@cairn/protocol'
import { client } from '../api.ts'
import { followChanges } from '../live/live.ts'
import { followWhileVisible } from '../ui/follow-while-visible.ts'

export type Home = AnswerOf<'home'>

/** A fallback for an interrupted stream, which is faster. */
const HOME_EVERY_MS = 30_000
/** Changes within this time share one request. */
const SETTLE_MS = 500
/** Shapes and spend lag behind the log by a few moments, so the last change is read once more. */
const LAG_MS = 3000

export const homeQuery = queryOptions({
  queryKey: ['home'],
  queryFn: ({ signal }) => client.call('home', { signal }),
  refetchInterval: HOME_EVERY_MS,
})

/** Reads the page again after changes, at most once per delay. */
export function useHomeLive(): void {
  const queries = useQueryClient()
  useEffect(() => followWhileVisible(() => follow(queries)), [queries])
}

function follow(queries: QueryClient): () => void {
  const timers = new Map<number, ReturnType<typeof setTimeout>>()
  const readIn = (ms: number): void => {
    if (timers.has(ms)) return
    const timer = setTimeout(() => {
      timers.delete(ms)
      void queries.invalidateQueries({ queryKey: homeQuery.queryKey })
    }, ms)
    timers.set(ms, timer)
  }
  const stop = followChanges({
    onItems: changes => {
      if (changes.length === 0) return
      readIn(SETTLE_MS)
      const late = timers.get(LAG_MS)
      clearTimeout(late)
      timers.delete(LAG_MS)
      readIn(LAG_MS)
    },
    // The frame follows the same changes and reports the error.
    onFailed: () => undefined,
  })
  return () => {
    for (const timer of timers.values()) clearTimeout(timer)
    stop()
  }
}
