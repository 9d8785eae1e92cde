/** One schedule: its state, next times, runs and missed runs, and actions. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { type ScheduleRunView, type ScheduleView, visibleText } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { formatEvery, oneLine } from '../format.ts'
import { sessionTitleQuery } from '../queries.ts'
import { scheduleRunsQuery } from './schedule-queries.ts'
import { generalWords } from '../words/general.ts'
import { schedulesWords } from '../words/schedules.ts'

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
        <span className="mono">{timesOf(schedule)}</span> · {generalWords.runs(schedule.run_count)} ·{' '}
        {schedulesWords.missed(schedule.skipped_count)} ·{' '}
        <Link to="/sessions/$sessionId" params={{ sessionId: schedule.session_id }} className="json-link">
          {visibleText(title ?? schedulesWords.openSession)}
        </Link>
      </p>
      {reason !== null && <p className="faint">{visibleText(reason)}</p>}
      {schedule.next.length > 0 && (
        <p className="schedule-facts" data-testid="next-times">
          {schedulesWords.next(schedule.next.slice(0, 3).map(shownTime).join(', '))}
        </p>
      )}
      {act.error && (
        <p className="inline-error" role="alert">
          {describeError(act.error)}
        </p>
      )}
      <div className="schedule-actions">
        {status === 'active' && button('pauseSchedule', generalWords.pause)}
        {status === 'paused' && button('resumeSchedule', generalWords.resume)}
        {isLive && button('runSchedule', schedulesWords.runNow)}
        {isLive && button('cancelSchedule', generalWords.cancel)}
        <Button
          className="button quiet small"
          aria-expanded={isOpen}
          onPress={() => setOpen(!isOpen)}
          data-testid="show-runs"
        >
          {isOpen ? schedulesWords.hideRuns : schedulesWords.runs}
        </Button>
      </div>
      {isOpen && <Runs id={id} />}
    </li>
  )
}

/** "2026-03-29 02:30 UTC": UTC, so that it is the same for every reader. */
const shownTime = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`

const timesOf = ({ cron, every_s, at, timezone }: ScheduleView): string =>
  cron !== null
    ? `${cron} (${timezone})`
    : every_s !== null
      ? formatEvery(every_s)
      : schedulesWords.once(shownTime(at ?? ''))

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
      <caption className="visually-hidden">{schedulesWords.runsCaption}</caption>
      <thead>
        <tr>
          <th scope="col">{schedulesWords.slot}</th>
          <th scope="col">{generalWords.result}</th>
          <th scope="col">{generalWords.session}</th>
        </tr>
      </thead>
      <tbody>
        {runs.map(run => (
          <tr key={run.slot_at} data-testid="schedule-run" data-status={run.status}>
            <td>
              <time dateTime={run.slot_at}>{shownTime(run.slot_at)}</time>
              {run.manual && <span className="faint"> {schedulesWords.manually}</span>}
            </td>
            <td>{wordOf(run)}</td>
            <td>
              {run.run_session_id !== null && (
                <Link
                  to="/sessions/$sessionId"
                  params={{ sessionId: run.run_session_id }}
                  className="json-link"
                >
                  {schedulesWords.open}
                </Link>
              )}
            </td>
          </tr>
        ))}
        {runs.length === 0 && (
          <tr>
            <td colSpan={3} className="faint">
              {schedulesWords.noRuns}
            </td>
          </tr>
        )}
      </tbody>
    </table>
  )
}

const WHY: Readonly<Record<string, string>> = schedulesWords.reasons

function wordOf({ status, reason, collapsed }: ScheduleRunView): string {
  const more = collapsed === 0 ? '' : schedulesWords.andMore(collapsed)
  if (status === 'skipped') return `${schedulesWords.skipped(WHY[reason ?? ''] ?? reason ?? '')}${more}`
  return `${status === 'failed' ? schedulesWords.failed(reason ?? '') : status}${more}`
}
