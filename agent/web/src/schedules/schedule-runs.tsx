/** The runs of a schedule, newest first, with the missed ones. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ScheduleRunView } from '@cairn/protocol'
import { describeError } from '../api.ts'
import { TimeOf } from '../ui/time-of.tsx'
import { generalWords } from '../words/general.ts'
import { schedulesWords } from '../words/schedules.ts'
import { scheduleRunsQuery } from './schedule-queries.ts'

export function ScheduleRuns({ id }: { id: string }) {
  const { data, error } = useQuery(scheduleRunsQuery(id))
  if (error)
    return (
      <p className="inline-error" role="alert">
        {describeError(error)}
      </p>
    )
  const runs = data?.runs ?? []
  return (
    <table className="table schedule-runs" data-testid="schedule-runs">
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
              <TimeOf at={run.slot_at} />
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
