/**
 * The index for search and usage totals. It is not part of the log: it is derived from committed events,
 * outside their commits, by following every log with a cursor that is stored with the index. So it lags by
 * moments, does not slow down appends, and can be deleted and rebuilt.
 */
import type { EventId, SearchedText, UsageGroup } from '@cairn/protocol'
import type { SessionQuery, SessionRow } from '../../session.ts'
import type { ShapeState } from './shape.ts'
import type { Excerpt } from './words.ts'

export type SearchQuery = Omit<SessionQuery, 'text'> & {
  /** Sessions with a text that contains all of these words. */
  words: string
}
/** `event_id` 0: the session itself, with its title, agent and id. */
export type Hit = Excerpt & { event_id: EventId; in: SearchedText }
export type Found = { session: SessionRow; hits: Hit[] }
export type SearchPage = {
  found: Found[]
  /** A page may be short, or empty, and still have a next one. */
  next_cursor: string | null
}

export type UsageQuery = {
  org_id: string
  /** Only what this principal created. */
  created_by?: string
  /** UTC days as epoch milliseconds of their start: from (inclusive), and before (exclusive). */
  since: number
  until: number
  by: UsageGroup
}
/** Usage of one day, by one agent, person or model. */
export type UsageRow = {
  /** Start of the UTC day in epoch milliseconds. */
  day: number
  name: string
  calls: number
  input_tokens: number
  output_tokens: number
  cost_usd: number
  /** Calls without a known rate: the cost is a lower bound. */
  unpriced_calls: number
}

export interface SearchStore {
  /** Starts following the logs; returns a function that stops it. Without it, only `catchUp` indexes. */
  follow(): () => Promise<void>
  /** Resolves when everything that was committed before the call is searchable. */
  catchUp(): Promise<void>
  find(query: SearchQuery): Promise<SearchPage>
  usage(query: UsageQuery): Promise<UsageRow[]>
  /** The shapes of these sessions, a few moments behind; those without one are missing. */
  shapes(sessionIds: readonly string[]): Promise<Map<string, ShapeState>>
  /** Number of sessions whose logs have unindexed text. */
  behind(): Promise<number>
}
