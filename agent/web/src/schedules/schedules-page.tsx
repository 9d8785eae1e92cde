/** Schedules with their times and results, and a form for a new one. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import type { ScheduleView } from '@cairn/protocol'
import { describeError } from '../api.ts'
import { ClockIcon, PlusIcon } from '../ui/icons.tsx'
import { Empty } from '../ui/empty.tsx'
import { Page } from '../ui/page.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { useMediaQuery } from '../ui/use-media-query.ts'
import { generalWords } from '../words/general.ts'
import { ScheduleCard, ScheduleRow } from './schedule-entry.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import { schedulesQuery } from './schedule-queries.ts'
import './schedules.css'
import { schedulesWords } from '../words/schedules.ts'

const FILTERS = ['current', 'ended'] as const
type Filter = (typeof FILTERS)[number]

export function SchedulesPage() {
  const { data: schedules, error, hasNextPage, fetchNextPage } = useInfiniteQuery(schedulesQuery)
  const [isOpen, setOpen] = useState(false)
  const [filter, setFilter] = useState<Filter>('current')
  const shown = (schedules ?? []).filter(
    ({ status }) => (status === 'active' || status === 'paused') === (filter === 'current'),
  )
  return (
    <Page
      title={schedulesWords.schedules}
      facts={
        <Segmented
          label={schedulesWords.filter}
          testId="schedules"
          segments={FILTERS.map(id => ({ id, text: schedulesWords.filters[id] }))}
          chosen={filter}
          onChoose={setFilter}
        />
      }
      actions={
        <Button className="button" onPress={() => setOpen(!isOpen)} data-testid="new-schedule">
          <PlusIcon />
          {schedulesWords.newSchedule}
        </Button>
      }
    >
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {isOpen && <ScheduleForm onDone={() => setOpen(false)} />}
      {shown.length > 0 && <Schedules schedules={shown} />}
      {shown.length === 0 && schedules !== undefined && schedules.length > 0 && (
        <p className="faint">{schedulesWords.noneMatch}</p>
      )}
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
        <Empty icon={<ClockIcon />} title={schedulesWords.none}>
          <p>{schedulesWords.noneText}</p>
          <p className="faint">{schedulesWords.example}</p>
          <Button className="button primary" onPress={() => setOpen(true)}>
            {schedulesWords.newSchedule}
          </Button>
        </Empty>
      )}
    </Page>
  )
}

const zoneHere = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** A table on a wide screen, cards on a phone. Times are in the zone of this browser, which the head names. */
function Schedules({ schedules }: { schedules: readonly ScheduleView[] }) {
  const isWide = useMediaQuery('(min-width: 1024px)')
  const zone = zoneHere()
  if (!isWide)
    return (
      <>
        <p className="faint schedule-zone">{schedulesWords.timesIn(zone)}</p>
        <ul className="list" data-testid="schedules-list">
          {schedules.map(schedule => (
            <ScheduleCard key={schedule.id} schedule={schedule} />
          ))}
        </ul>
      </>
    )
  const { status, name, when, next, runs } = schedulesWords.columns
  return (
    <div className="table-scroll schedules-scroll">
      <table className="table schedules-table" data-testid="schedules-list">
        <thead>
          <tr>
            <th scope="col">{status}</th>
            <th scope="col">{name}</th>
            <th scope="col">{when}</th>
            <th scope="col">{next(zone)}</th>
            <th scope="col" className="number">
              {runs}
            </th>
            <th scope="col">
              <span className="visually-hidden">{generalWords.actions}</span>
            </th>
          </tr>
        </thead>
        {schedules.map(schedule => (
          <ScheduleRow key={schedule.id} schedule={schedule} />
        ))}
      </table>
    </div>
  )
}
