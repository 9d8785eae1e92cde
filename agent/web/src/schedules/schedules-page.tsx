/** Schedules with their times and results, and a form for a new one. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { describeError } from '../api.ts'
import { ClockIcon, PlusIcon } from '../ui/icons.tsx'
import { BackIcon } from '../ui/page-icons.tsx'
import { ScheduleEntry } from './schedule-entry.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import { schedulesQuery } from './schedule-queries.ts'
import './schedules.css'
import { generalWords } from '../words/general.ts'
import { schedulesWords } from '../words/schedules.ts'

export function SchedulesPage() {
  const { data: schedules, error, hasNextPage, fetchNextPage } = useInfiniteQuery(schedulesQuery)
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="schedules">
      <header className="page-head">
        <Link to="/sessions" className="button quiet square back" aria-label={generalWords.backToSessions}>
          <BackIcon />
        </Link>
        <h1>{schedulesWords.schedules}</h1>
        <Button className="button" onPress={() => setOpen(!isOpen)} data-testid="new-schedule">
          <PlusIcon />
          {schedulesWords.newSchedule}
        </Button>
      </header>
      <div className="schedules-scroll">
        {error && (
          <p className="inline-error" role="alert">
            {describeError(error)}
          </p>
        )}
        {isOpen && <ScheduleForm onDone={() => setOpen(false)} />}
        <ul className="schedules-list" data-testid="schedules-list">
          {(schedules ?? []).map(schedule => (
            <ScheduleEntry key={schedule.id} schedule={schedule} />
          ))}
        </ul>
        {hasNextPage && (
          <Button
            className="button quiet"
            onPress={() => {
              void fetchNextPage()
            }}
          >
            {schedulesWords.older}
          </Button>
        )}
        {schedules?.length === 0 && !isOpen && (
          <div className="empty">
            <ClockIcon />
            <h2>{schedulesWords.none}</h2>
            <p>{schedulesWords.noneText}</p>
          </div>
        )}
      </div>
    </div>
  )
}
