/** The events around a step, from the log that the page has, or from the server. */
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import type { SessionEvent } from '@cairn/protocol'
import { isOpen } from '@cairn/state'
import { client } from '../api.ts'
import { indexOfId } from '../events/event-index.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { turnOf } from './turn-facts.ts'
import type { Run } from './use-run.ts'

/** Events read before and after a step, at most. */
const BEFORE = 300
const AFTER = 120
const PAGE = 1000

export type EventRange = { session: string; from: number; to: number; turn: number }

/** The range of the selected step: from the beginning of its turn, if that is near, to some events after it. */
export function rangeOfSelection({ source, selection, span }: Run): EventRange | null {
  const spans = selection === null ? undefined : source.tables.get(selection.session)
  if (selection === null || spans === undefined || span === -1) return null
  const turn = turnOf(spans, span)
  const event = spans.event[span] ?? selection.event
  const last = Math.max(spans.last[span] ?? event, selection.event)
  const begin = turn === -1 ? event : (spans.event[turn] ?? event)
  return {
    session: selection.session,
    from: Math.max(begin - 2, Math.min(event, selection.event) - BEFORE, 1),
    to: Math.min(last, event + PAGE - BEFORE - AFTER) + AFTER,
    turn: begin,
  }
}

const EVERY_MS = 2000

const eventsQuery = ({ session, from, to }: EventRange, isGrowing: boolean) =>
  queryOptions({
    queryKey: ['events-around', session, from, to],
    queryFn: async ({ signal }) => {
      const { events } = await client.call('pollEvents', {
        params: { id: session },
        query: { after: from - 1, limit: Math.min(PAGE, to - from + 1) },
        signal,
      })
      return (events as unknown as SessionEvent[]).filter(({ id }) => id <= to)
    },
    staleTime: isGrowing ? EVERY_MS : 60_000,
    refetchInterval: isGrowing ? EVERY_MS : false,
    placeholderData: keepPreviousData,
  })

export type AroundEvents = { events: readonly SessionEvent[]; isLoading: boolean; error: unknown }

export function useEventsAround(run: Run, log: FollowedSession, range: EventRange): AroundEvents {
  const { events } = log.index
  const hasLog = range.session === log.id && events.length > 0
  const spans = run.source.tables.get(range.session)
  const isGrowing = run.isLive && spans !== undefined && run.span !== -1 && isOpen(spans, run.span)
  const query = useQuery({ ...eventsQuery(range, isGrowing), enabled: !hasLog })
  if (!hasLog) return { events: query.data ?? [], isLoading: query.isPending, error: query.error }
  const here = events.slice(indexOfId(events, range.from), indexOfId(events, range.to + 1))
  return { events: here, isLoading: false, error: null }
}
