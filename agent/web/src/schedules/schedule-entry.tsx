/** One schedule: a row of the table, or a card on a phone, with its details when it is open. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { Button } from 'react-aria-components'
import { type ScheduleView, visibleText } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { formatCount, formatEvery, oneLine } from '../format.ts'
import { sessionTitleQuery } from '../queries.ts'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { Status, type StatusKind } from '../ui/status.tsx'
import { TimeAhead } from '../ui/time-ahead.tsx'
import { TimeOf } from '../ui/time-of.tsx'
import { useNow } from '../ui/use-now.ts'
import { generalWords } from '../words/general.ts'
import { rich } from '../words/rich.tsx'
import { schedulesWords } from '../words/schedules.ts'
import { ScheduleRuns } from './schedule-runs.tsx'

const KINDS: Record<ScheduleView['status'], StatusKind> = {
  active: 'done',
  paused: 'paused',
  completed: 'done',
  cancelled: 'idle',
  expired: 'idle',
}

type Action = 'pauseSchedule' | 'resumeSchedule' | 'runSchedule' | 'cancelSchedule'

function useActions({ id, status }: ScheduleView) {
  const queries = useQueryClient()
  const act = useMutation({
    mutationFn: async (action: Action) => {
      await client.call(action, { params: { schedule_id: id } })
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['schedules'] }),
  })
  const button = (action: Action, label: string, isOffered: boolean) =>
    isOffered && (
      <Button
        className="button small"
        isDisabled={act.isPending}
        onPress={() => act.mutate(action)}
        data-testid={action}
      >
        {label}
      </Button>
    )
  const isLive = status === 'active' || status === 'paused'
  return {
    error: act.error,
    frequent: (
      <>
        {button('runSchedule', schedulesWords.runNow, isLive)}
        {button('pauseSchedule', generalWords.pause, status === 'active')}
        {button('resumeSchedule', generalWords.resume, status === 'paused')}
      </>
    ),
    cancel: button('cancelSchedule', schedulesWords.cancel, isLive),
  }
}

const nameOf = ({ name, prompt }: ScheduleView): string => visibleText(name ?? oneLine(prompt, 120))

const StatusOf = ({ status }: ScheduleView) => (
  <Status kind={KINDS[status]} word={schedulesWords.states[status]} />
)

const whenOf = ({ cron, every_s, at, timezone }: ScheduleView): ReactNode =>
  cron !== null ? (
    <>
      <code>{cron}</code> <span className="faint">{timezone}</span>
    </>
  ) : every_s !== null ? (
    formatEvery(every_s)
  ) : (
    rich(schedulesWords.once, { time: at !== null && <TimeOf at={at} /> })
  )

function NextTime({ next }: ScheduleView) {
  const now = useNow(30_000)
  const [first] = next
  return (
    <span data-testid="next-times">
      {first === undefined ? schedulesWords.noNext : <TimeAhead at={first} now={now} />}
    </span>
  )
}

type ToggleProps = { schedule: ScheduleView; isOpen: boolean; onToggle: () => void }

const NameButton = ({ schedule, isOpen, onToggle }: ToggleProps) => (
  <button
    type="button"
    className="schedule-name"
    aria-expanded={isOpen}
    onClick={onToggle}
    data-testid="show-runs"
  >
    <ChevronIcon />
    <span className="truncate">{nameOf(schedule)}</span>
  </button>
)

/** The columns of the table: name and state, times, next run, counts, actions. */
const SCHEDULE_COLUMNS = 6

export function ScheduleRow({ schedule }: { schedule: ScheduleView }) {
  const [isOpen, setOpen] = useState(false)
  const actions = useActions(schedule)
  return (
    <tbody data-testid="schedule" data-status={schedule.status} data-schedule-id={schedule.id}>
      <tr className="schedule-row-main">
        <td>
          <StatusOf {...schedule} />
        </td>
        <th scope="row">
          <NameButton schedule={schedule} isOpen={isOpen} onToggle={() => setOpen(!isOpen)} />
        </th>
        <td>{whenOf(schedule)}</td>
        <td>
          <NextTime {...schedule} />
        </td>
        <td className="number">
          {formatCount(schedule.run_count)}
          {schedule.skipped_count > 0 && (
            <span className="badge waiting">{schedulesWords.missed(schedule.skipped_count)}</span>
          )}
        </td>
        <td>
          <div className="row-buttons">{actions.frequent}</div>
        </td>
      </tr>
      {(isOpen || actions.error !== null) && (
        <tr>
          <td colSpan={SCHEDULE_COLUMNS} className="schedule-open">
            <Details schedule={schedule} actions={actions} />
          </td>
        </tr>
      )}
    </tbody>
  )
}

export function ScheduleCard({ schedule }: { schedule: ScheduleView }) {
  const [isOpen, setOpen] = useState(false)
  const actions = useActions(schedule)
  return (
    <li
      className="schedule"
      data-testid="schedule"
      data-status={schedule.status}
      data-schedule-id={schedule.id}
    >
      <header>
        <h2>
          <NameButton schedule={schedule} isOpen={isOpen} onToggle={() => setOpen(!isOpen)} />
        </h2>
        <StatusOf {...schedule} />
      </header>
      <p className="schedule-facts">
        {whenOf(schedule)} · <NextTime {...schedule} /> · {generalWords.runs(schedule.run_count)}
        {schedule.skipped_count > 0 && <> · {schedulesWords.missed(schedule.skipped_count)}</>}
      </p>
      <div className="schedule-actions">{actions.frequent}</div>
      {(isOpen || actions.error !== null) && <Details schedule={schedule} actions={actions} />}
    </li>
  )
}

type DetailProps = { schedule: ScheduleView; actions: ReturnType<typeof useActions> }

function Details({ schedule, actions }: DetailProps) {
  const { data: title } = useQuery(sessionTitleQuery(schedule.session_id))
  const now = useNow(30_000)
  return (
    <div className="schedule-details">
      {actions.error !== null && (
        <p className="inline-error" role="alert">
          {describeError(actions.error)}
        </p>
      )}
      {schedule.reason !== null && <p className="muted">{visibleText(schedule.reason)}</p>}
      <p className="schedule-prompt">{visibleText(schedule.prompt)}</p>
      <p className="schedule-facts">
        {schedulesWords.postsTo}{' '}
        <Link to="/sessions/$sessionId" params={{ sessionId: schedule.session_id }} className="json-link">
          {visibleText(title ?? schedulesWords.openSession)}
        </Link>
      </p>
      {schedule.next.length > 1 && (
        <ol className="schedule-next" aria-label={schedulesWords.nextTimes}>
          {schedule.next.map(at => (
            <li key={at}>
              <TimeAhead at={at} now={now} />
            </li>
          ))}
        </ol>
      )}
      <ScheduleRuns id={schedule.id} />
      <div className="schedule-actions">{actions.cancel}</div>
    </div>
  )
}
