/** The times of a schedule, with a preview of the next ones while the person types. */
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { formatInZone } from '@cairn/protocol'
import { describeError } from '../api.ts'
import { optionsOf, Picker } from '../ui/picker.tsx'
import { TimeAhead } from '../ui/time-ahead.tsx'
import { useNow } from '../ui/use-now.ts'
import { previewQuery, type Timing } from './schedule-queries.ts'
import { schedulesWords } from '../words/schedules.ts'

const UNITS = { minutes: 60, hours: 3600, days: 86_400 } as const
type Unit = keyof typeof UNITS

/** Both kinds keep their values, so that switching between them loses nothing. */
export type When = {
  kind: 'cron' | 'interval'
  cron: string
  timezone: string
  count: number
  unit: Unit
}
export const firstWhen = (): When => ({
  kind: 'cron',
  cron: '0 9 * * MON-FRI',
  timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  count: 30,
  unit: 'minutes',
})
export const timingOf = ({ kind, cron, timezone, count, unit }: When): Timing =>
  kind === 'cron' ? { cron, timezone } : { every_s: Math.round(count * UNITS[unit]) }

type Props = { when: When; onChange: (when: When) => void }

export function WhenField({ when, onChange }: Props) {
  const set = (change: Partial<When>) => onChange({ ...when, ...change })
  return (
    <fieldset className="schedule-when">
      <legend>{schedulesWords.when}</legend>
      <label>
        <input type="radio" checked={when.kind === 'cron'} onChange={() => set({ kind: 'cron' })} />{' '}
        {schedulesWords.cron}
      </label>
      <label>
        <input
          type="radio"
          checked={when.kind === 'interval'}
          onChange={() => set({ kind: 'interval' })}
          data-testid="kind-interval"
        />{' '}
        {schedulesWords.interval}
      </label>
      {when.kind === 'cron' ? (
        <div className="schedule-row">
          <input
            className="input mono"
            aria-label={schedulesWords.cron}
            value={when.cron}
            onChange={event => set({ cron: event.target.value })}
            data-testid="schedule-cron"
          />
          <input
            className="input"
            aria-label={schedulesWords.timeZone}
            value={when.timezone}
            onChange={event => set({ timezone: event.target.value })}
            data-testid="schedule-zone"
          />
        </div>
      ) : (
        <Interval when={when} set={set} />
      )}
      <Preview timing={timingOf(when)} />
    </fieldset>
  )
}

const Interval = ({ when, set }: { when: When; set: (change: Partial<When>) => void }) => (
  <div className="schedule-row">
    <input
      className="input"
      aria-label={schedulesWords.every}
      type="number"
      min={1}
      value={when.count}
      onChange={event => set({ count: Number(event.target.value) })}
    />
    <Picker
      label={schedulesWords.unit}
      options={optionsOf<Unit>(schedulesWords.units)}
      value={when.unit}
      onChange={unit => set({ unit })}
    />
  </div>
)

/** The next times with remarks about unusual ones, or the server's error message. */
function Preview({ timing }: { timing: Timing }) {
  const asked = useDeferredValue(timing)
  const now = useNow(30_000)
  const { data, error } = useQuery({ ...previewQuery(asked), placeholderData: before => before })
  if (error)
    return (
      <p className="schedule-problem" role="alert" data-testid="preview-problem">
        {describeError(error)}
      </p>
    )
  return (
    <ol className="schedule-next" aria-label={schedulesWords.nextTimes} data-testid="preview">
      {(data?.next ?? []).map(({ at, local, note }) => (
        <li key={at}>
          {'cron' in asked ? (
            <>
              <time dateTime={at}>{formatLocal(local, now)}</time>{' '}
              <span className="faint">{data?.timezone}</span>
            </>
          ) : (
            // An interval has no zone of its own.
            <TimeAhead at={at} now={now} />
          )}
          {note !== null && <span className="badge waiting">{note}</span>}
        </li>
      ))}
    </ol>
  )
}

/** The wall time of the server, "2026-03-29 02:30", for people: "29 Mar, 02:30". */
const formatLocal = (local: string, now: number): string =>
  formatInZone(Date.parse(`${local.replace(' ', 'T')}Z`), now, 'UTC')
