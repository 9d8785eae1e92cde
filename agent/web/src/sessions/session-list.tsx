/** Sessions by day with their states and costs, or the results of a search. */
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Suspense, lazy, useCallback, useEffect, useState } from 'react'
import { noteSession, sessionsQuery } from '../queries.ts'
import { ArchiveIcon, FilterIcon, SearchIcon } from '../ui/icons.tsx'
import { useNow } from '../ui/use-now.ts'
import { byDay } from './days.ts'
import { Failure, More } from './list-parts.tsx'
import { countFilters, type Filters, readFilters } from '../session-filters.ts'
import { SessionItem } from './session-item.tsx'
import { useSessionsLive } from './sessions-live.ts'
import './session-list.css'
import { sessionsWords } from '../words/sessions.ts'

const Search = lazy(async () => ({ default: (await import('./search-view.tsx')).Search }))
const FilterPanel = lazy(() => import('./filter-panel.tsx'))

/** A search starts when typing pauses for this time. */
const TYPING_MS = 200

type Change = { [K in keyof Filters]: Filters[K] | undefined }

/** The filters in the address, and a function that changes some. */
function useFilters(): [Filters, (change: Change) => void] {
  // The address also has keys of the page beside the list.
  const filters = readFilters(useSearch({ from: '/shell' }))
  const navigate = useNavigate()
  const change = useCallback(
    (wanted: Change) =>
      void navigate({
        to: '.',
        search: (before: Record<string, unknown>) => ({
          ...before,
          // An undefined value removes the key from the address.
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
    <section className="sessions" id="sessions" aria-label={sessionsWords.list}>
      <div className="sessions-find">
        <div className="search">
          <SearchIcon />
          <input
            type="search"
            className="input"
            aria-label={sessionsWords.search}
            placeholder={sessionsWords.search}
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
          aria-label={count === 0 ? sessionsWords.filterAndSort : sessionsWords.filtersInUse(count)}
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
          aria-label={sessionsWords.showArchived}
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
        <Suspense fallback={null}>
          <Search filters={filters} wanted={wanted} isTyping={text.trim() !== wanted} />
        </Suspense>
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
  const nothing = filters.archived ? sessionsWords.noArchived : sessionsWords.noSessions
  return (
    <>
      <Failure error={error} />
      <div className="session-list" data-testid="session-list">
        {byDay(sessions, filters.sort ?? 'created', now).map(({ label, sessions }) => (
          <section key={label} aria-label={label === '' ? sessionsWords.list : label}>
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
              ? sessionsWords.noMatch
              : nothing}
        </p>
      )}
      <More {...more} words={sessionsWords.olderSessions} />
    </>
  )
}

/** Returns a value once it is unchanged for `ms`. */
function useSettled(value: string, ms: number): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}
