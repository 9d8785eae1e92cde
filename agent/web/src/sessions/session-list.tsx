/** Sessions by day, with what each is doing and has cost; or those that hold the words that were typed. */
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Suspense, lazy, useCallback, useEffect, useState } from 'react'
import { describeError } from '../api.ts'
import { noteSession, searchQuery, sessionsQuery } from '../queries.ts'
import { ArchiveIcon, FilterIcon, SearchIcon } from '../ui/icons.tsx'
import { useNow } from '../ui/use-now.ts'
import { byDay } from './days.ts'
import { countFilters, type Filters, readFilters } from '../session-filters.ts'
import { SessionItem } from './session-item.tsx'
import { useSessionsLive } from './sessions-live.ts'
import './session-list.css'

const SearchResults = lazy(async () => ({
  default: (await import('./search-results.tsx')).SearchResults,
}))
const FilterPanel = lazy(() => import('./filter-panel.tsx'))

/** A search begins when the typing pauses for so long. */
const TYPING_MS = 200

type Change = { [K in keyof Filters]: Filters[K] | undefined }

/** The filters of the address, and how to change some. */
function useFilters(): [Filters, (change: Change) => void] {
  // The address has other keys too, of the page beside the list.
  const filters = readFilters(useSearch({ from: '/shell' }))
  const navigate = useNavigate()
  const change = useCallback(
    (wanted: Change) =>
      void navigate({
        to: '.',
        search: (before: Record<string, unknown>) => ({
          ...before,
          // A key without a value is no part of an address.
          ...Object.fromEntries(Object.keys(wanted).map(key => [key, undefined])),
          ...readFilters(wanted),
        }),
        replace: true,
      }),
    [navigate],
  )
  return [filters, change]
}

export function SessionList() {
  useSessionsLive()
  const [filters, change] = useFilters()
  const { archived } = filters
  const [text, setText] = useState(filters.q ?? '')
  const settled = useSettled(text.trim(), TYPING_MS)
  useEffect(() => change({ q: settled === '' ? undefined : settled }), [settled, change])
  const wanted = filters.q ?? ''
  const count = countFilters(filters)
  const [isNarrowing, setNarrowing] = useState(false)
  return (
    <section className="sessions" aria-label="Sessions">
      <div className="sessions-find">
        <div className="search">
          <SearchIcon />
          <input
            type="search"
            className="input"
            aria-label="Search sessions"
            placeholder="Search all sessions"
            data-testid="session-search"
            value={text}
            onChange={event => setText(event.target.value)}
            onKeyDown={event => {
              if (event.key === 'Escape') setText('')
            }}
          />
        </div>
        <button
          type="button"
          className="button quiet square"
          aria-label={count === 0 ? 'Filter and sort' : `Filter and sort, ${count} in use`}
          aria-expanded={isNarrowing}
          data-selected={count > 0 || undefined}
          data-testid="session-filters"
          onClick={() => setNarrowing(!isNarrowing)}
        >
          <FilterIcon />
        </button>
        <button
          type="button"
          className="button quiet square"
          aria-label="Show archived sessions"
          aria-pressed={archived === true}
          data-selected={archived === true || undefined}
          onClick={() => change({ archived: archived === true ? undefined : true })}
        >
          <ArchiveIcon />
        </button>
      </div>
      {isNarrowing && (
        <Suspense fallback={null}>
          <FilterPanel filters={filters} onChange={change} />
        </Suspense>
      )}
      {wanted === '' ? (
        <Listing filters={filters} />
      ) : (
        <Search filters={filters} wanted={wanted} isTyping={text.trim() !== wanted} />
      )}
    </section>
  )
}

function Listing({ filters }: { filters: Filters }) {
  const { data, error, isPending, ...more } = useInfiniteQuery(sessionsQuery(filters))
  const now = useNow(20_000)
  const open = useParams({ strict: false }).sessionId
  const sessions = (data?.pages ?? []).flatMap(page => page.sessions)
  const queries = useQueryClient()
  useEffect(() => {
    for (const { sessions } of data?.pages ?? [])
      for (const session of sessions) if (session.id === open) noteSession(queries, session)
  }, [queries, data, open])
  const nothing = filters.archived ? 'Nothing is archived.' : 'No sessions yet.'
  return (
    <>
      <Failure error={error} />
      <div className="session-list" data-testid="session-list">
        {byDay(sessions, filters.sort ?? 'created', now).map(({ label, sessions }) => (
          <section key={label} aria-label={label === '' ? 'Sessions' : label}>
            {label !== '' && <h2 className="session-day">{label}</h2>}
            <ul>
              {sessions.map(session => (
                <SessionItem key={session.id} session={session} isOpen={session.id === open} now={now} />
              ))}
            </ul>
          </section>
        ))}
      </div>
      {!error && (
        <p className="sessions-note faint" role="status" data-testid="sessions-note">
          {isPending || sessions.length > 0
            ? null
            : countFilters(filters) > 0
              ? 'No session fits these filters.'
              : nothing}
        </p>
      )}
      <More {...more} words="Older sessions" />
    </>
  )
}

type SearchProps = { filters: Filters; wanted: string; isTyping: boolean }

function Search({ filters, wanted, isTyping }: SearchProps) {
  const { data, error, isPending, isPlaceholderData, ...more } = useInfiniteQuery(
    searchQuery(filters, wanted),
  )
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = more
  const now = useNow(20_000)
  const open = useParams({ strict: false }).sessionId
  const results = (data?.pages ?? []).flatMap(page => page.results)
  // A page may be short, or empty, while there is more.
  const isSearchingOn = hasNextPage && results.length < ENOUGH
  useEffect(() => {
    if (isSearchingOn && !isFetchingNextPage && !isPlaceholderData && !error) void fetchNextPage()
  }, [isSearchingOn, isFetchingNextPage, isPlaceholderData, error, fetchNextPage])
  const isLooking = isTyping || isPending || isPlaceholderData || isSearchingOn
  return (
    <>
      <Failure error={error} />
      <Suspense fallback={null}>
        <SearchResults results={results} open={open} now={now} />
      </Suspense>
      {!error && (
        <p className="sessions-note faint" role="status" data-testid="sessions-note">
          {isLooking ? 'Searching …' : noteOf(wanted, filters, results.length)}
        </p>
      )}
      {!isSearchingOn && <More {...more} words="Older ones" />}
    </>
  )
}
/** Results that fill the column. */
const ENOUGH = 10

/** What was searched, and that nothing was found only once everything was looked through. */
function noteOf(wanted: string, filters: Filters, found: number): string {
  const fitting = countFilters(filters) > 0 ? ' that fits the filters' : ''
  const which = `${filters.archived ? 'archived ' : ''}session${fitting}`
  return found > 0
    ? 'Found in titles, messages, answers and tool calls.'
    : `No ${which} has all words of “${wanted}” in one message, answer or tool call.`
}

const Failure = ({ error }: { error: Error | null }) =>
  error && (
    <p className="inline-error sessions-error" role="alert">
      {describeError(error)}
    </p>
  )

type MoreProps = {
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => Promise<unknown>
  words: string
}

const More = ({ hasNextPage, isFetchingNextPage, fetchNextPage, words }: MoreProps) =>
  hasNextPage && (
    <button
      type="button"
      className="button quiet"
      disabled={isFetchingNextPage}
      onClick={() => {
        void fetchNextPage()
      }}
    >
      {isFetchingNextPage ? 'Loading …' : words}
    </button>
  )

/** A value once it has not changed for so long. */
function useSettled(value: string, ms: number): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}
