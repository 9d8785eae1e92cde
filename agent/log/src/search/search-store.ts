/**
 * The index behind the search and the sums of use. It is no part of the log: it is made of committed events,
 * outside their commits, by following every log with a cursor that is stored with what was made of it. So it
 * is some moments behind, costs no append anything, and may be deleted: it is made again.
 */
import type { EventId, SearchedText, UsageGroup } from '@cairn/protocol'
import type { SessionRow } from '../session.ts'
import type { SessionQuery } from '../store.ts'
import type { Excerpt } from './words.ts'

export type SearchQuery = Omit<SessionQuery, 'text'> & {
  /** Sessions one of whose texts holds all words of it. */
  words: string
}
/** `event_id` 0: of the session itself, its title, agent and id. */
export type Hit = Excerpt & { event_id: EventId; in: SearchedText }
export type Found = { session: SessionRow; hits: Hit[] }
export type SearchPage = {
  found: Found[]
  /** A page may be short, or empty, and still have a next one. */
  next_cursor: string | null
}

export type UsageQuery = {
  org_id: string
  /** Days of UTC, as epoch milliseconds of their beginning: from, and before. */
  since: number
  until: number
  by: UsageGroup
}
/** What the calls of one day used, of one agent, person or model. */
export type UsageRow = {
  /** Epoch milliseconds at which the day began in UTC. */
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
  /**
   * Begins to follow the logs; returns how to stop. Without it nothing is indexed but what `catchUp` is
   * asked for.
   */
  follow(): () => Promise<void>
  /** Resolves when everything that was committed before the call can be found. */
  catchUp(): Promise<void>
  find(query: SearchQuery): Promise<SearchPage>
  usage(query: UsageQuery): Promise<UsageRow[]>
  /** Sessions whose logs have what the index should have and has not. */
  behind(): Promise<number>
}
