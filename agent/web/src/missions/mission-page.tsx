/** One mission: its state and commands, verdicts, tasks, board and workers. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Button } from 'react-aria-components'
import { isMissionOver, type MissionDetail, visibleText, type WorkerView } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { boardQuery } from '../board/board-query.ts'
import { Note } from '../board/note.tsx'
import { formatCost, formatTokens, oneLine } from '../format.ts'
import { StateDot } from '../sessions/session-state.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { BackIcon } from '../ui/page-icons.tsx'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { asSession, workerWord } from '../workers/worker-words.ts'
import { BudgetBars } from './budget-bars.tsx'
import { resultWord, roundOf, STATUS_WORDS } from './mission-words.ts'
import { missionQuery, missionTasksQuery, missionWorkersQuery } from './missions-query.ts'
import { ResearchSections } from './research-section.tsx'
import { TaskGraph } from './task-graph.tsx'
import './missions.css'
import { missionsWords } from '../words/missions.ts'
import { generalWords } from '../words/general.ts'

export function MissionPage() {
  const { missionId } = useParams({ from: '/shell/missions/$missionId' })
  const { data: mission, error } = useQuery(missionQuery(missionId))
  const now = useNow(5000)
  return (
    <div className="missions">
      <header className="page-head">
        <Link to="/missions" className="button quiet square back" aria-label={missionsWords.backToMissions}>
          <BackIcon />
        </Link>
        <h1 className="truncate">
          {mission ? oneLine(visibleText(mission.description), 120) : missionsWords.mission}
        </h1>
      </header>
      <div className="missions-scroll">
        {error && (
          <p className="inline-error" role="alert">
            {describeError(error)}
          </p>
        )}
        {mission && <Mission mission={mission} now={now} />}
      </div>
    </div>
  )
}

function Mission({ mission, now }: { mission: MissionDetail; now: number }) {
  const isLive = !isMissionOver(mission.status)
  const { data: tasks = [] } = useQuery(missionTasksQuery(mission.mission_id, isLive))
  const { data: workers = [] } = useQuery(missionWorkersQuery(mission.mission_id, isLive))
  const { data: board } = useQuery(boardQuery(mission.session_id, isLive))
  return (
    <div className="mission" data-testid="mission" data-status={mission.status}>
      <section className="mission-head" aria-label={generalWords.state}>
        <p className="mission-line">
          <span className="mission-status" data-testid="mission-status">
            {mission.evaluating ? missionsWords.evaluating : STATUS_WORDS[mission.status]}
          </span>
          <span className="numeric">{roundOf(mission)}</span>
          <span className="faint numeric">
            {generalWords.tokenCount(formatTokens(mission.spent.tokens))}
            {/* Hidden if no model has a price. */}
            {mission.spent.cost_usd > 0 && ` · ${formatCost(mission.spent.cost_usd)}`}
          </span>
          <Link
            to="/sessions/$sessionId"
            params={{ sessionId: mission.session_id }}
            data-testid="mission-coordinator"
          >
            {missionsWords.coordinator}
          </Link>
        </p>
        {mission.reason !== null && <p className="muted">{visibleText(mission.reason)}</p>}
        <BudgetBars mission={mission} />
        <Steer mission={mission} />
      </section>
      <section>
        <h2>{mission.kind === 'research' ? missionsWords.research : missionsWords.mission}</h2>
        <p className="mission-text">
          <ExactText text={mission.description} />
        </p>
        <h3>{missionsWords.criteria}</h3>
        <p className="mission-text muted">
          <ExactText text={mission.rubric} />
        </p>
      </section>
      {mission.kind === 'research' && <ResearchSections missionId={mission.mission_id} isLive={isLive} />}
      <Verdicts mission={mission} now={now} />
      {tasks.length > 0 && (
        <section>
          <h2>{missionsWords.tasks}</h2>
          <TaskGraph tasks={tasks} />
        </section>
      )}
      {workers.length > 0 && <Workers workers={workers} />}
      {board !== undefined && board.notes.length > 0 && (
        <section>
          <h2>{missionsWords.board}</h2>
          <ul className="mission-board">
            {board.notes.map(note => (
              <Note key={note.id} type={note.type} content={note.content} noteRef={note.ref} />
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}

function Verdicts({ mission: { verdicts }, now }: { mission: MissionDetail; now: number }) {
  return (
    <section>
      <h2>{missionsWords.verdicts}</h2>
      {verdicts.length === 0 && <p className="faint">{missionsWords.noVerdict}</p>}
      <ol className="verdicts" data-testid="verdicts">
        {verdicts.map(verdict => (
          <li key={verdict.iteration} data-result={verdict.result}>
            <p>
              <strong>{resultWord(verdict.result)}</strong>{' '}
              <span className="faint">
                {missionsWords.roundAt(verdict.iteration, formatAgo(verdict.at, now))}
                {verdict.trigger === 'round_end' ? '' : `, ${missionsWords.endedBy(verdict.trigger)}`}
              </span>
            </p>
            <p>
              <ExactText text={verdict.explanation} />
            </p>
            {verdict.feedback !== '' && (
              <p className="muted">
                <ExactText text={verdict.feedback} />
              </p>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}

function Workers({ workers }: { workers: readonly WorkerView[] }) {
  return (
    <section>
      <h2>{missionsWords.workers}</h2>
      <ul className="mission-workers" data-testid="mission-workers">
        {workers.map(worker => (
          <li key={worker.worker_id}>
            <StateDot session={asSession(worker)} />
            <Link className="truncate" to="/sessions/$sessionId" params={{ sessionId: worker.worker_id }}>
              {visibleText(worker.goal ?? generalWords.untitled)}
            </Link>
            <span className="faint">{workerWord(worker)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

type Action = 'pause' | 'resume' | 'cancel'

function Steer({ mission: { mission_id, status } }: { mission: MissionDetail }) {
  const queries = useQueryClient()
  const steer = useMutation({
    mutationFn: (action: Action) => {
      const params = { mission_id }
      switch (action) {
        case 'pause':
          return client.call('pauseMission', { params, body: {} })
        case 'resume':
          return client.call('resumeMission', { params, body: {} })
        case 'cancel':
          return client.call('cancelMission', { params, body: {} })
      }
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['mission', mission_id] }),
  })
  const button = (action: Action, label: string) => (
    <Button
      className="button"
      isDisabled={steer.isPending}
      onPress={() => steer.mutate(action)}
      data-testid={`mission-${action}`}
    >
      {label}
    </Button>
  )
  return isMissionOver(status) ? null : (
    <div className="mission-actions">
      {status === 'active' ? button('pause', generalWords.pause) : button('resume', generalWords.resume)}
      {button('cancel', generalWords.cancel)}
      {steer.error && (
        <p className="inline-error" role="alert">
          {describeError(steer.error)}
        </p>
      )}
    </div>
  )
}
