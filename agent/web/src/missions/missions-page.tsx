/** All missions, newest first: state, round and used budget. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { type MissionView, visibleText } from '@cairn/protocol'
import { describeError } from '../api.ts'
import { formatTokens, oneLine } from '../format.ts'
import { MissionIcon, PlusIcon } from '../ui/icons.tsx'
import { Empty } from '../ui/empty.tsx'
import { Page } from '../ui/page.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { Status } from '../ui/status.tsx'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { BudgetBars } from './budget-bars.tsx'
import { MISSION_KINDS, roundOf, STATUS_WORDS } from './mission-words.ts'
import { MissionForm } from './mission-form.tsx'
import { MISSION_FILTERS, type MissionFilter, missionsQuery } from './missions-query.ts'
import './missions.css'
import { generalWords } from '../words/general.ts'
import { missionsWords } from '../words/missions.ts'
import { rich } from '../words/rich.tsx'

export function MissionsPage() {
  const [filter, setFilter] = useState<MissionFilter>('all')
  const [isOpen, setOpen] = useState(false)
  const {
    data: missions,
    error,
    hasNextPage,
    fetchNextPage,
    isFetchingNextPage,
  } = useInfiniteQuery(missionsQuery(filter))
  const now = useNow(20_000)
  return (
    <Page
      title={missionsWords.missions}
      facts={
        <Segmented
          label={missionsWords.filter}
          testId="missions"
          segments={MISSION_FILTERS.map(id => ({ id, text: missionsWords.filters[id] }))}
          chosen={filter}
          onChoose={setFilter}
        />
      }
      actions={
        <Button className="button" onPress={() => setOpen(!isOpen)} data-testid="new-mission">
          <PlusIcon />
          {missionsWords.newMission}
        </Button>
      }
    >
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {isOpen && <MissionForm onCancel={() => setOpen(false)} />}
      <ul className="list" data-testid="missions-list">
        {missions?.map(mission => (
          <Entry key={mission.mission_id} mission={mission} now={now} />
        ))}
      </ul>
      {missions?.length === 0 && filter !== 'all' && <p className="faint">{missionsWords.noneMatch}</p>}
      {missions?.length === 0 && filter === 'all' && !isOpen && (
        <Empty icon={<MissionIcon />} title={missionsWords.none}>
          <p>{rich(missionsWords.noneText, { command: <code>/mission</code> })}</p>
        </Empty>
      )}
      {hasNextPage && (
        <Button
          className="button quiet"
          isDisabled={isFetchingNextPage}
          onPress={() => {
            void fetchNextPage()
          }}
        >
          {isFetchingNextPage ? generalWords.loading : missionsWords.older}
        </Button>
      )}
    </Page>
  )
}

function Entry({ mission, now }: { mission: MissionView; now: number }) {
  const { last_evaluation: last } = mission
  return (
    <li className="mission-entry" data-testid="mission-entry" data-status={mission.status}>
      <Link to="/missions/$missionId" params={{ missionId: mission.mission_id }}>
        <Status kind={MISSION_KINDS[mission.status]} word={STATUS_WORDS[mission.status]} />
        <strong>{oneLine(visibleText(mission.description), 140)}</strong>
        <span className="faint numeric">
          {roundOf(mission)} · {generalWords.tokenCount(formatTokens(mission.spent.tokens))} ·{' '}
          {formatAgo(mission.created_at, now)}
        </span>
        {last !== null && <span className="muted truncate">{visibleText(last.explanation)}</span>}
        <BudgetBars mission={mission} />
      </Link>
    </li>
  )
}
