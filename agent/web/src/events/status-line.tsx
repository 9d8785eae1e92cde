/** The size of the log, how much of it is shown, and a button that leads to crashes and failures. */
import { Button } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import { formatCount } from '../format.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { AlertIcon } from '../ui/icons.tsx'
import { isFiltering } from './filter.ts'
import { eventsWords } from '../words/events.ts'
import { rich } from '../words/rich.tsx'

export function StatusLine({
  log,
  session,
  from,
  onAlarm,
}: {
  log: FollowedSession
  session: Session | undefined
  /** The button goes to the next alarm after this event id. */
  from: number
  onAlarm: (id: number) => void
}) {
  const { index } = log
  const { events, alarms } = index
  const last = events.at(-1)?.id ?? 0
  const pruned = last - events.length
  const counted = events.length - index.deltas
  const target = session?.last_event_id ?? 0
  const next = alarms.find(at => (events[at]?.id ?? 0) > from) ?? alarms[0]
  const nextId = next === undefined ? undefined : events[next]?.id
  return (
    <footer className="events-status numeric" data-testid="events-status">
      {isFiltering(index.filter) ? (
        <span>{eventsWords.matching(formatCount(index.matching), counted)}</span>
      ) : (
        <span>{eventsWords.count(counted)}</span>
      )}
      <span>{eventsWords.turns(index.turns.length)}</span>
      {index.deltas > 0 && (
        <span>
          {eventsWords.deltas(index.deltas)}
          {!index.filter.showsDeltas && ` ${eventsWords.folded}`}
        </span>
      )}
      {pruned > 0 && <span>{eventsWords.removed(formatCount(pruned))}</span>}
      {index.unscanned > 0 && (
        <span>{eventsWords.filtering(Math.round((1 - index.unscanned / events.length) * 100))}</span>
      )}
      {last < target && <span>{eventsWords.loading(Math.floor((last / target) * 100))}</span>}
      {nextId !== undefined && (
        <Button
          className="button quiet small alarm-button"
          onPress={() => onAlarm(nextId)}
          data-testid="next-alarm"
        >
          <AlertIcon />
          {eventsWords.alarms(alarms.length)}
        </Button>
      )}
      <span className="events-keys">{rich(eventsWords.pressForKeys, { key: <kbd>?</kbd> })}</span>
    </footer>
  )
}
