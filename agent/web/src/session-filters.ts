/** The filters of the session list in the address, so that a search can be shared as a link. Pure. */
import {
  SESSION_SORTS,
  SESSION_STATES,
  SESSION_STATUSES,
  type QueryOf,
  type SessionSort,
  type SessionState,
} from '@cairn/protocol'
import { sessionsWords } from './words/sessions.ts'

export const AGES = sessionsWords.ages
type Age = keyof typeof AGES
const DAY_MS = 86_400_000

export type Filters = {
  q?: string
  state?: SessionState
  agent?: string
  channel?: string
  /** Minimum cost in USD. */
  cost?: number
  /** Maximum time since the last change. */
  age?: Age
  sort?: SessionSort
  archived?: true
}

const oneOf = <T extends string>(values: readonly T[], given: unknown): T | undefined =>
  values.find(value => value === given)
const words = (given: unknown): string | undefined =>
  (typeof given === 'string' || typeof given === 'number') && String(given).trim() !== ''
    ? String(given).slice(0, 200)
    : undefined

/** Reads the filters from an address; ignores other keys and invalid values. */
export function readFilters(search: Record<string, unknown>): Filters {
  const cost = Number(search['cost'])
  const found: { [K in keyof Filters]: Filters[K] | undefined } = {
    q: words(search['q']),
    state: oneOf(SESSION_STATES, search['state']),
    agent: words(search['agent']),
    channel: words(search['channel']),
    cost: Number.isFinite(cost) && cost > 0 ? cost : undefined,
    age: oneOf(Object.keys(AGES) as Age[], search['age']),
    sort: oneOf(
      SESSION_SORTS.filter(sort => sort !== 'created'),
      search['sort'],
    ),
    archived: search['archived'] === true ? true : undefined,
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined)) as Filters
}

/** The number of active filters, without the search text. */
export const countFilters = ({ q: _words, sort: _sort, archived: _archived, ...narrow }: Filters): number =>
  Object.values(narrow).filter(value => value !== undefined).length

const NOT_ARCHIVED = SESSION_STATUSES.filter(status => status !== 'archived').join(',')

/** Converts to the query of the API. Times are rounded, so that equal filters give equal queries. */
export function queryOf(filters: Filters, now: number): QueryOf<'listSessions'> {
  const { state, agent, channel, cost, age, sort, archived } = filters
  const since = age === undefined ? undefined : now - (now % 3_600_000) - Number.parseInt(age) * DAY_MS
  return {
    status: archived === true ? 'archived' : NOT_ARCHIVED,
    ...(state && { state }),
    ...(agent && { agent }),
    ...(channel && { channel }),
    ...(cost !== undefined && { min_cost_usd: String(cost) }),
    ...(since !== undefined && { since: new Date(since).toISOString() }),
    ...(sort && { sort }),
  }
}
