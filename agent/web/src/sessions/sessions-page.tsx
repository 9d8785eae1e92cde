/** All sessions as a table, with filters in the address, or the results of a search. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Suspense, lazy, useEffect, useState } from 'react'

import { ArchiveIcon, DropIcon, FilterIcon, SearchIcon } from '../ui/icons.tsx'
import { Empty } from '../ui/empty.tsx'
import { OpenerButton } from '../ui/opener-button.tsx'
import { Page } from '../ui/page.tsx'
import { sessionsWords } from '../words/sessions.ts'
import { sessionsPageWords } from '../words/sessions-page.ts'
import { countFilters, type Filters } from '../session-filters.ts'
import { Failure, More } from './list-parts.tsx'
import { hasContent } from './session-state.tsx'
import { sessionsQuery } from './sessions-query.ts'
import { SessionsTable } from './sessions-table.tsx'
import { useFilters } from './use-filters.ts'
import './session-list.css'

const Search = lazy(async () => ({ default: (await import('./search-view.tsx')).Search }))
const FilterPanel = lazy(() => import('./filter-panel.tsx'))
const ViewMenu = lazy(() => import('./view-menu.tsx'))

/** A search starts when typing pauses for this time. */
const TYPING_MS = 200

export function SessionsPage() {
  const [filters, change] = useFilters()
  const { archived } = filters
  const [text, setText] = useState(filters.q ?? '')
  const settled = useSettled(text.trim(), TYPING_MS)
  useEffect(() => change({ q: settled === '' ? undefined : settled }), [settled, change])
  const wanted = filters.q ?? ''
  const count = countFilters(filters)
  const [isNarrowing, setNarrowing] = useState(count > 0)
  return (
    <Page title={sessionsWords.list} width="full" back={null}>
      <div className="sessions" id="sessions">
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
            className="button"
            aria-label={count === 0 ? sessionsWords.filterAndSort : sessionsWords.filtersInUse(count)}
            aria-expanded={isNarrowing}
            data-selected={count > 0 || undefined}
            data-testid="session-filters"
            onClick={() => setNarrowing(!isNarrowing)}
          >
            <FilterIcon />
            <span className="wide">{sessionsWords.filters}</span>
            {count > 0 && <span className="numeric">{count}</span>}
          </button>
          <button
            type="button"
            className="button"
            aria-label={sessionsWords.showArchived}
            aria-pressed={archived === true}
            data-selected={archived === true || undefined}
            onClick={() => change({ archived: archived === true ? undefined : true })}
          >
            <ArchiveIcon />
            <span className="wide">{sessionsPageWords.archivedOnly}</span>
          </button>
          <OpenerButton
            className="button"
            testId="session-views"
            renderOpen={(button, close) => <ViewMenu filters={filters} button={button} onDone={close} />}
          >
            <span>{sessionsWords.views}</span>
            <DropIcon />
          </OpenerButton>
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
      </div>
    </Page>
  )
}

function Listing({ filters }: { filters: Filters }) {
  const { data, error, isPending, ...more } = useInfiniteQuery(sessionsQuery(filters))
  const sessions = (data?.pages ?? []).flatMap(page => page.sessions).filter(hasContent)
  const isEmpty = !isPending && error === null && sessions.length === 0
  return (
    <>
      <Failure error={error} />
      {sessions.length > 0 && <SessionsTable sessions={sessions} sort={filters.sort ?? 'created'} />}
      {isEmpty && <NoSessions filters={filters} />}
      <More {...more} words={sessionsWords.olderSessions} />
    </>
  )
}

function NoSessions({ filters }: { filters: Filters }) {
  if (countFilters(filters) > 0) return <Empty title={sessionsWords.noMatch} testId="sessions-note" />
  if (filters.archived === true) return <Empty title={sessionsWords.noArchived} testId="sessions-note" />
  return (
    <Empty title={sessionsWords.noSessions} testId="sessions-note">
      <p>{sessionsPageWords.example}</p>
      <Link to="/" className="button primary">
        {sessionsWords.newSession}
      </Link>
    </Empty>
  )
}

/** The text, once it has not changed for that time. */
function useSettled(text: string, ms: number): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), ms)
    return () => clearTimeout(timer)
  }, [text, ms])
  return settled
}
