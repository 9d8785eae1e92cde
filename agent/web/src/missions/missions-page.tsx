/** All missions, newest first: state, round and used budget. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Button } from 'react-aria-components'
import { type MissionView, visibleText } from '@cairn/protocol'
import { describeError } from '../api.ts'
import { formatTokens, oneLine } from '../format.ts'
import { MissionIcon } from '../ui/icons.tsx'
import { BackIcon } from '../ui/page-icons.tsx'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { BudgetBars } from './budget-bars.tsx'
import { roundOf, STATUS_WORDS } from './mission-words.ts'
import { missionsQuery } from './missions-query.ts'
import './missions.css'
import { generalWords } from '../words/general.ts'
import { missionsWords } from '../words/missions.ts'
import { rich } from '../words/rich.tsx'

export function MissionsPage() {
  const {
    data: missions,
    error,
    hasNextPage,
    fetchNextPage,
    isFetchingNextPage,
  } = useInfiniteQuery(missionsQuery)
  const now = useNow(20_000)
  return (
    <div className="missions">
      <header className="page-head">
        <Link to="/sessions" className="button quiet square back" aria-label={generalWords.backToSessions}>
          <BackIcon />
        </Link>
        <h1>{missionsWords.missions}</h1>
      </header>
      <div className="missions-scroll">
        {error && (
          <p className="inline-error" role="alert">
            {describeError(error)}
          </p>
        )}
        <ul className="missions-list" data-testid="missions-list">
          {missions?.map(mission => (
            <Entry key={mission.mission_id} mission={mission} now={now} />
          ))}
        </ul>
        {missions?.length === 0 && (
          <div className="empty">
            <MissionIcon />
            <h2>{missionsWords.none}</h2>
            <p>{rich(missionsWords.noneText, { command: <code>/mission</code> })}</p>
          </div>
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
      </div>
    </div>
  )
}

function Entry({ mission, now }: { mission: MissionView; now: number }) {
  const { last_evaluation: last } = mission
  return (
    <li className="mission-entry" data-testid="mission-entry" data-status={mission.status}>
      <Link to="/missions/$missionId" params={{ missionId: mission.mission_id }}>
        <span className="mission-status">{STATUS_WORDS[mission.status]}</span>
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
