/** One schedule: how it stands, its next times, what came of its slots, and what one can do with it. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { type ScheduleRunView, type ScheduleView, visibleText } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { formatEvery, oneLine, plural } from '../format.ts'
import { sessionTitleQuery } from '../queries.ts'
import { scheduleRunsQuery } from './schedule-queries.ts'

type Action = 'pauseSchedule' | 'resumeSchedule' | 'runSchedule' | 'cancelSchedule'

export function ScheduleEntry({ schedule }: { schedule: ScheduleView }) {
  const { id, status, name, prompt, reason } = schedule
  const queries = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  const { data: title } = useQuery(sessionTitleQuery(schedule.session_id))
  const act = useMutation({
    mutationFn: async (action: Action) => {
      await client.call(action, { params: { schedule_id: id } })
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['schedules'] }),
  })
  const isLive = status === 'active' || status === 'paused'
  const button = (action: Action, label: string) => (
    <Button
      className="button small"
      isDisabled={act.isPending}
      onPress={() => act.mutate(action)}
      data-testid={action}
    >
      {label}
    </Button>
  )
  return (
    <li className="schedule" data-testid="schedule" data-status={status} data-schedule-id={id}>
      <header>
        <h2>{visibleText(name ?? oneLine(prompt, 120))}</h2>
        <span className={status === 'paused' ? 'badge waiting' : 'badge'}>{status}</span>
      </header>
      <p className="schedule-facts">
        <span className="mono">{timesOf(schedule)}</span> · {plural(schedule.run_count, 'run')} ·{' '}
        {plural(schedule.skipped_count, 'slot')} without one ·{' '}
        <Link to="/sessions/$sessionId" params={{ sessionId: schedule.session_id }} className="json-link">
          {visibleText(title ?? 'its session')}
        </Link>
      </p>
      {reason !== null && <p className="faint">{visibleText(reason)}</p>}
      {schedule.next.length > 0 && (
        <p className="schedule-facts" data-testid="next-times">
          Next: {schedule.next.slice(0, 3).map(shownTime).join(', ')}
        </p>
      )}
      {act.error && (
        <p className="inline-error" role="alert">
          {describeError(act.error)}
        </p>
      )}
      <div className="schedule-actions">
        {status === 'active' && button('pauseSchedule', 'Pause')}
        {status === 'paused' && button('resumeSchedule', 'Resume')}
        {isLive && button('runSchedule', 'Run now')}
        {isLive && button('cancelSchedule', 'Cancel')}
        <Button
          className="button quiet small"
          aria-expanded={isOpen}
          onPress={() => setOpen(!isOpen)}
          data-testid="show-runs"
        >
          {isOpen ? 'Hide runs' : 'Runs'}
        </Button>
      </div>
      {isOpen && <Runs id={id} />}
    </li>
  )
}

/** "2026-03-29 02:30 UTC": the same for everybody who reads it. */
const shownTime = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`

const timesOf = ({ cron, every_s, at, timezone }: ScheduleView): string =>
  cron !== null
    ? `${cron} (${timezone})`
    : every_s !== null
      ? formatEvery(every_s)
      : `once, ${shownTime(at ?? '')}`

function Runs({ id }: { id: string }) {
  const { data, error } = useQuery(scheduleRunsQuery(id))
  if (error)
    return (
      <p className="inline-error" role="alert">
        {describeError(error)}
      </p>
    )
  const runs = data?.runs ?? []
  return (
    <table className="schedule-runs" data-testid="schedule-runs">
      <caption className="visually-hidden">What became of its slots, newest first</caption>
      <thead>
        <tr>
          <th scope="col">Slot</th>
          <th scope="col">What came of it</th>
          <th scope="col">Session</th>
        </tr>
      </thead>
      <tbody>
        {runs.map(run => (
          <tr key={run.slot_at} data-testid="schedule-run" data-status={run.status}>
            <td>
              <time dateTime={run.slot_at}>{shownTime(run.slot_at)}</time>
              {run.manual && <span className="faint"> by hand</span>}
            </td>
            <td>{wordOf(run)}</td>
            <td>
              {run.run_session_id !== null && (
                <Link
                  to="/sessions/$sessionId"
                  params={{ sessionId: run.run_session_id }}
                  className="json-link"
                >
                  Open
                </Link>
              )}
            </td>
          </tr>
        ))}
        {runs.length === 0 && (
          <tr>
            <td colSpan={3} className="faint">
              No slot has passed yet.
            </td>
          </tr>
        )}
      </tbody>
    </table>
  )
}

const WHY: Readonly<Record<string, string>> = {
  missed: 'nobody could run it in time',
  overlap: 'a run was under way',
  backoff: 'runs before it had failed',
  paused: 'the session was paused',
  cancelled: 'cancelled',
}

function wordOf({ status, reason, collapsed }: ScheduleRunView): string {
  const more = collapsed === 0 ? '' : `, and ${plural(collapsed, 'more slot', 'more slots')}`
  if (status === 'skipped') return `skipped: ${WHY[reason ?? ''] ?? reason}${more}`
  return `${status === 'failed' ? `failed (${reason})` : status}${more}`
}
