/** All events of the session, live: grid, filters, detail panel and keys. */
import { useSearch } from '@tanstack/react-router'
import { type RefObject, useEffect, useRef, useState, type KeyboardEvent } from 'react'
import { Button } from 'react-aria-components'
import type { Session, SessionEvent } from '@cairn/protocol'
import { formatCount } from '../format.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { stateWord } from '../sessions/session-state.tsx'
import { TailIcon } from '../ui/page-icons.tsx'
import { say, sayError } from '../ui/toasts.tsx'
import { useMediaQuery } from '../ui/use-media-query.ts'
import { type EventCommand, movesInGrid, commandOf, type KeyPlace } from './event-commands.ts'
import { EventDetail } from './event-detail.tsx'
import { EventGrid, type GridHandle } from './event-grid.tsx'
import { EVENT, type EventIndex, indexOfKey, kindOfKey, positionOf, type RowKey } from './event-index.ts'
import { EventsHelp } from './events-help.tsx'
import { EventsToolbar } from './events-toolbar.tsx'
import { NO_FILTER, type EventFilter } from './filter.ts'
import { StatusLine } from './status-line.tsx'
import { useEventAddress } from './use-event-address.ts'
import { type EventCursor, useEventCursor } from './use-event-cursor.ts'
import './events.css'
import { TAKES_KEYS } from '../ui/takes-keys.ts'
import { eventsWords } from '../words/events.ts'
import { generalWords } from '../words/general.ts'

const ROW = { wide: 26, narrow: 48 }
/** From this many newer rows on, a button leads to them. */
const MANY_NEWER = 30

type Props = { log: FollowedSession; session: Session | undefined }

export function EventsTab({ log, session }: Props) {
  const tab = useEventsTab(log, session)
  const { index } = log
  const { grid, cursor, active, isFollowing, setFollowing, jump, filterBy, leave } = tab
  const { activeKey } = cursor
  const isNarrow = useMediaQuery('(max-width: 760px)')
  return (
    <div className="events" data-detail={cursor.isOpen && activeKey !== null ? true : undefined}>
      <EventsToolbar
        index={index}
        isFollowing={isFollowing}
        searchField={tab.searchField}
        jumpField={tab.jumpField}
        onFilter={filterBy}
        onFollow={setFollowing}
        onJump={jump}
        onHelp={() => tab.setHelping(true)}
        onLeaveField={() => grid.current?.focus()}
      />
      <div className="events-main">
        <EventGrid
          index={index}
          openTurn={session ? stateWord(session).toLowerCase() : eventsWords.openTurn}
          rowHeight={isNarrow ? ROW.narrow : ROW.wide}
          activeKey={activeKey}
          isFollowing={isFollowing}
          handle={grid}
          onFollow={setFollowing}
          onActivate={(key, open) => {
            setFollowing(false)
            cursor.activate(key, open)
          }}
          onKeyDown={tab.onKeyDown}
        />
        <NoRows index={index} />
        {!isFollowing && (
          <NewerButton index={index} activeKey={activeKey} onPress={() => setFollowing(true)} />
        )}
        {cursor.isOpen && activeKey !== null && (
          <EventDetail
            index={index}
            rowKey={activeKey}
            onClose={leave}
            onJump={jump}
            onCopy={copy}
            onRelated={text => filterBy({ ...NO_FILTER, text: text.toLowerCase() })}
          />
        )}
      </div>
      <StatusLine log={log} session={session} onAlarm={jump} from={active?.id ?? 0} />
      <EventsHelp isOpen={tab.isHelping} onChange={tab.setHelping} />
    </div>
  )
}

/**
 * The state of the tab besides the log: the cursor, whether it follows the log, and the commands of its keys.
 */
function useEventsTab(log: FollowedSession, session: Session | undefined) {
  const { index } = log
  const { id: wantedId } = useSearch({ strict: false })
  const [isFollowing, setFollowing] = useState(wantedId === undefined)
  const [isHelping, setHelping] = useState(false)
  const grid = useRef<GridHandle>(null)
  const searchField = useRef<HTMLInputElement>(null)
  const jumpField = useRef<HTMLInputElement>(null)
  const cursor = useEventCursor(index, grid, () => setFollowing(false))
  const active = eventAt(index, cursor.activeKey)
  const lastId = index.events.at(-1)?.id ?? 0
  useFirstFocus(grid)
  useEventAddress(
    cursor.isOpen ? active?.id : undefined,
    id => (lastId >= id || isRead(log, session)) && index.unscanned === 0,
    id => sayWhere(id, cursor.jump(id), lastId),
  )
  const filterBy = useFilter(log, grid, { activeKey: cursor.activeKey, isFollowing })
  const jump = (id: number) => {
    sayWhere(id, cursor.jump(id), lastId)
    grid.current?.focus()
  }
  const leave = () => {
    cursor.close()
    grid.current?.focus()
  }
  const page = () => grid.current?.pageSize() ?? 1
  const commands: Record<EventCommand, () => void> = {
    down: () => cursor.move(1),
    up: () => cursor.move(-1),
    'page-down': () => cursor.move(page()),
    'page-up': () => cursor.move(-page()),
    first: () => cursor.moveTo('first'),
    last: () => cursor.moveTo('last'),
    open: () => cursor.open(isFollowing ? 'tail' : 'sight'),
    close: leave,
    search() {
      searchField.current?.focus()
      searchField.current?.select()
    },
    jump: () => jumpField.current?.focus(),
    follow: () => setFollowing(!isFollowing),
    copy: () => active && copy(active),
    help: () => setHelping(true),
  }
  const onKeyDown = useEventKeys(command => {
    if (movesInGrid(command)) grid.current?.focus()
    commands[command]()
  })
  return {
    grid,
    searchField,
    jumpField,
    cursor,
    active,
    isFollowing,
    setFollowing,
    isHelping,
    setHelping,
    jump,
    leave,
    filterBy,
    onKeyDown,
  }
}

/** The page has received all events that the log had when the session was read. */
const isRead = ({ view, connection }: FollowedSession, session: Session | undefined): boolean =>
  connection === 'live' && session !== undefined && view.last_id >= session.last_event_id

const eventAt = ({ events }: EventIndex, key: RowKey | null): SessionEvent | undefined =>
  key === null || kindOfKey(key) !== EVENT ? undefined : events[indexOfKey(key)]

/** Focuses the grid at first, unless the reader is moving through the tabs with the arrow keys. */
function useFirstFocus(grid: RefObject<GridHandle | null>): void {
  useEffect(() => {
    const held = document.activeElement
    if (held === null || held === document.body || held.matches('[role="tab"]:not(:focus-visible)'))
      grid.current?.focus()
  }, [grid])
}

/** Reports a jump that did not reach its event. */
function sayWhere(id: number, outcome: ReturnType<EventCursor['jump']>, lastId: number): void {
  if (outcome === 'hidden') say(eventsWords.hiddenByFilter(id))
  if (outcome === 'pruned') say(eventsWords.wasRemoved(id))
  if (outcome === 'none') say(eventsWords.notYet(formatCount(id), formatCount(lastId)))
}

function copy(event: SessionEvent): void {
  navigator.clipboard
    .writeText(JSON.stringify(event, null, 2))
    .then(() => say(eventsWords.copied(event.id)), sayError)
}

function NoRows({ index }: { index: EventIndex }) {
  if (index.rows.length > 0) return null
  return (
    <p className="events-none muted">
      {index.events.length === 0
        ? eventsWords.noEvents
        : index.unscanned > 0
          ? generalWords.searching
          : eventsWords.noMatch}
    </p>
  )
}

function NewerButton({
  index,
  activeKey,
  onPress,
}: {
  index: EventIndex
  activeKey: RowKey | null
  onPress: () => void
}) {
  const newer = activeKey === null ? 0 : index.rows.length - 1 - positionOf(index.rows, activeKey)
  if (newer <= MANY_NEWER) return null
  return (
    <Button className="button tail-button" onPress={onPress}>
      <TailIcon />
      {eventsWords.newer(formatCount(newer))}
    </Button>
  )
}

type AnyKeyboardEvent = KeyboardEvent | globalThis.KeyboardEvent

const ELSEWHERE = TAKES_KEYS + ', [role="tree"]'
const CONTROLS = 'a, button, summary, [tabindex]'

/**
 * Handles the keys of the EVENTS tab on the page, where they have no other use; returns the handler for keys
 * in the grid.
 */
function useEventKeys(run: (command: EventCommand) => void): (event: KeyboardEvent) => void {
  const obey = (event: AnyKeyboardEvent, place: KeyPlace) => {
    const command = commandOf(event, place)
    if (command === null) return
    event.preventDefault()
    run(command)
  }
  const obeyNow = useRef(obey)
  useEffect(() => {
    obeyNow.current = obey
  })
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => {
      const target = event.target as HTMLElement
      if (!event.defaultPrevented && !target.closest(ELSEWHERE))
        obeyNow.current(event, target.closest(CONTROLS) ? 'control' : 'page')
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
  return event => obey(event, 'grid')
}

/** Applies a filter, and keeps the active row in view when the rows around it change. */
function useFilter(
  { index, setFilter }: FollowedSession,
  grid: RefObject<GridHandle | null>,
  { activeKey, isFollowing }: { activeKey: RowKey | null; isFollowing: boolean },
): (filter: EventFilter) => void {
  const isRevealDue = useRef(false)
  useEffect(() => {
    if (!isRevealDue.current || index.unscanned > 0) return
    isRevealDue.current = false
    if (!isFollowing)
      grid.current?.reveal(activeKey === null ? 0 : positionOf(index.rows, activeKey), 'center')
  })
  return filter => {
    setFilter(filter)
    isRevealDue.current = true
  }
}
