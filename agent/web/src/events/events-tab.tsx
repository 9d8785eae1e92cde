/** Every event of the session, live: grid, filters, detail, keys. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import type { Session, SessionEvent } from '@cairn/protocol'
import { formatCount, plural } from '../format.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { stateWord } from '../sessions/session-state.tsx'
import { AlertIcon, TailIcon } from '../ui/icons.tsx'
import { say, sayError } from '../ui/toasts.tsx'
import { useMediaQuery } from '../ui/use-media-query.ts'
import { EVENT, indexOfKey, kindOfKey, positionOf } from './event-index.ts'
import { EventDetail } from './event-detail.tsx'
import { EventGrid, type GridHandle } from './event-grid.tsx'
import { EventsHelp } from './events-help.tsx'
import { EventsToolbar } from './events-toolbar.tsx'
import { type EventFilter, NO_FILTER, isFiltering } from './filter.ts'
import { type KeyPlace, commandOf, movesInGrid, useEventCursor } from './use-event-cursor.ts'
import './events.css'

const ROW = { wide: 26, narrow: 48 }

function copy(event: SessionEvent) {
  navigator.clipboard
    .writeText(JSON.stringify(event, null, 2))
    .then(() => say(`Event ${event.id} copied.`), sayError)
}

export function EventsTab({ log, session }: { log: FollowedSession; session: Session | undefined }) {
  const { index } = log
  const { id: wantedId } = useSearch({ strict: false })
  const navigate = useNavigate()
  const isNarrow = useMediaQuery('(max-width: 760px)')
  const [isFollowing, setFollowing] = useState(wantedId === undefined)
  const [isHelping, setHelping] = useState(false)
  const grid = useRef<GridHandle>(null)
  const searchField = useRef<HTMLInputElement>(null)
  const jumpField = useRef<HTMLInputElement>(null)
  const cursor = useEventCursor(index, grid, () => setFollowing(false))
  const { activeKey } = cursor
  const active =
    activeKey === null || kindOfKey(activeKey) !== EVENT ? undefined : index.events[indexOfKey(activeKey)]

  // The keys are the grid's from the start. Who came by the arrow keys of the tabs goes on among the tabs.
  useEffect(() => {
    const held = document.activeElement
    if (held === null || held === document.body || held.matches('[role="tab"]:not(:focus-visible)'))
      grid.current?.focus()
  }, [])

  // The address names the open event, a moment after it was opened: holding a key down must not flood the
  // history.
  const shownId = cursor.isOpen ? active?.id : undefined
  const arrivedAt = useRef<number | undefined>(undefined)
  useEffect(() => {
    if (wantedId !== undefined && arrivedAt.current === undefined) return
    const timer = setTimeout(() => {
      void navigate({ to: '.', search: shownId === undefined ? {} : { id: shownId }, replace: true })
    }, 250)
    return () => clearTimeout(timer)
  }, [shownId, wantedId, navigate])

  // An address that names an event waits until the log has reached it.
  const lastId = index.events.at(-1)?.id ?? 0
  useEffect(() => {
    if (wantedId === undefined || arrivedAt.current !== undefined || lastId < wantedId || index.unscanned > 0)
      return
    arrivedAt.current = wantedId
    cursor.jump(wantedId)
  })

  const jump = (id: number) => {
    const outcome = cursor.jump(id)
    if (outcome === 'hidden') say(`Event ${id} is hidden by the filter; this is the nearest one shown.`)
    if (outcome === 'pruned') say(`Event ${id} was pruned.`)
    if (outcome === 'none')
      say(`There is no event ${formatCount(id)} yet; the last is ${formatCount(lastId)}.`)
    grid.current?.focus()
  }
  // What one was looking at stays in sight when the rows around it change.
  const isRevealDue = useRef(false)
  const filterBy = (filter: EventFilter) => {
    log.setFilter(filter)
    isRevealDue.current = true
  }
  useEffect(() => {
    if (!isRevealDue.current || index.unscanned > 0) return
    isRevealDue.current = false
    if (!isFollowing)
      grid.current?.reveal(activeKey === null ? 0 : positionOf(index.rows, activeKey), 'center')
  })

  const obey = (event: KeyboardEvent | globalThis.KeyboardEvent, place: KeyPlace) => {
    const command = commandOf(event, place)
    if (command === null) return
    event.preventDefault()
    if (movesInGrid(command)) grid.current?.focus()
    const page = grid.current?.pageSize() ?? 1
    switch (command) {
      case 'down':
        cursor.move(1)
        break
      case 'up':
        cursor.move(-1)
        break
      case 'page-down':
        cursor.move(page)
        break
      case 'page-up':
        cursor.move(-page)
        break
      case 'first':
        cursor.moveTo('first')
        break
      case 'last':
        cursor.moveTo('last')
        break
      case 'open':
        cursor.open(isFollowing ? 'tail' : 'sight')
        break
      case 'close':
        cursor.close()
        grid.current?.focus()
        break
      case 'search':
        searchField.current?.focus()
        searchField.current?.select()
        break
      case 'jump':
        jumpField.current?.focus()
        break
      case 'follow':
        setFollowing(!isFollowing)
        break
      case 'copy':
        if (active) copy(active)
        break
      case 'help':
        setHelping(true)
        break
    }
  }
  const obeyNow = useRef(obey)
  useEffect(() => {
    obeyNow.current = obey
  })
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => {
      const target = event.target as HTMLElement
      const isElsewhere = target.closest(
        'input, textarea, select, [contenteditable], [role="dialog"], [role="menu"], [role="listbox"], ' +
          '[role="tree"]',
      )
      if (!event.defaultPrevented && !isElsewhere)
        obeyNow.current(event, target.closest('a, button, summary, [tabindex]') ? 'control' : 'page')
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])

  const newer =
    cursor.activeKey === null || isFollowing
      ? 0
      : index.rows.length - 1 - positionOf(index.rows, cursor.activeKey)
  return (
    <div className="events" data-detail={cursor.isOpen && cursor.activeKey !== null ? true : undefined}>
      <EventsToolbar
        index={index}
        isFollowing={isFollowing}
        searchField={searchField}
        jumpField={jumpField}
        onFilter={filterBy}
        onFollow={setFollowing}
        onJump={jump}
        onHelp={() => setHelping(true)}
        onLeaveField={() => grid.current?.focus()}
      />
      <div className="events-main">
        <EventGrid
          index={index}
          openTurn={session ? stateWord(session).toLowerCase() : 'open'}
          rowHeight={isNarrow ? ROW.narrow : ROW.wide}
          activeKey={cursor.activeKey}
          isFollowing={isFollowing}
          handle={grid}
          onFollow={setFollowing}
          onActivate={(key, open) => {
            setFollowing(false)
            cursor.activate(key, open)
          }}
          onKeyDown={event => obey(event, 'grid')}
        />
        {index.rows.length === 0 && (
          <p className="events-none muted">
            {index.events.length === 0
              ? 'No events yet. The first message begins the log.'
              : index.unscanned > 0
                ? 'Searching …'
                : 'No event fits the filter.'}
          </p>
        )}
        {!isFollowing && newer > 30 && (
          <Button className="button tail-button" onPress={() => setFollowing(true)}>
            <TailIcon />
            {formatCount(newer)} newer
          </Button>
        )}
        {cursor.isOpen && cursor.activeKey !== null && (
          <EventDetail
            index={index}
            rowKey={cursor.activeKey}
            onClose={() => {
              cursor.close()
              grid.current?.focus()
            }}
            onJump={jump}
            onCopy={copy}
            onRelated={text => filterBy({ ...NO_FILTER, text: text.toLowerCase() })}
          />
        )}
      </div>
      <StatusLine log={log} session={session} onAlarm={jump} from={active?.id ?? 0} />
      <EventsHelp isOpen={isHelping} onChange={setHelping} />
    </div>
  )
}

/** What the whole log holds, what of it is shown, and the way to what went wrong. */
function StatusLine({
  log,
  session,
  from,
  onAlarm,
}: {
  log: FollowedSession
  session: Session | undefined
  from: number
  onAlarm: (id: number) => void
}) {
  const { index } = log
  const { events, alarms } = index
  const last = events.at(-1)?.id ?? 0
  const pruned = last - events.length
  const target = session?.last_event_id ?? 0
  const next = alarms.find(at => (events[at]?.id ?? 0) > from) ?? alarms[0]
  const nextId = next === undefined ? undefined : events[next]?.id
  return (
    <footer className="events-status numeric" data-testid="events-status">
      {isFiltering(index.filter) ? (
        <span>
          {formatCount(index.matching)} of {plural(events.length, 'event')}
        </span>
      ) : (
        <span>{plural(events.length, 'event')}</span>
      )}
      <span>{plural(index.turns.length, 'turn')}</span>
      {pruned > 0 && <span>{formatCount(pruned)} pruned</span>}
      {index.unscanned > 0 && (
        <span>filtering {Math.round((1 - index.unscanned / events.length) * 100)} %</span>
      )}
      {last < target && <span>reading {Math.floor((last / target) * 100)} %</span>}
      {nextId !== undefined && (
        <Button
          className="button quiet small alarm-button"
          onPress={() => onAlarm(nextId)}
          data-testid="next-alarm"
        >
          <AlertIcon />
          {plural(alarms.length, 'crash or recovery', 'crashes, recoveries and failures')}
        </Button>
      )}
      <span className="events-keys">
        press <kbd>?</kbd> for keys
      </span>
    </footer>
  )
}
