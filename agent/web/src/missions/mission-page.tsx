/** One mission: its state and commands, verdicts, tasks, board and workers. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Button } from 'react-aria-components'
import { isMissionOver, type MissionDetail, visibleText, type WorkerView } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { boardQuery } from '../board/board-query.ts'
import { Note } from '../board/note.tsx'
import { formatCost, formatTokens, oneLine } from '../format.ts'
import { StateMark } from '../sessions/session-state.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { BackIcon } from '../ui/icons.tsx'
import { Page } from '../ui/page.tsx'
import { Status } from '../ui/status.tsx'
import { asSession, workerWord } from '../workers/worker-words.ts'
import { BudgetBars } from './budget-bars.tsx'
import { Guidance } from './guidance.tsx'
import { MissionResult, Rounds } from './mission-result.tsx'
import { MISSION_KINDS, roundOf, STATUS_WORDS } from './mission-words.ts'
import { missionQuery, missionTasksQuery, missionWorkersQuery } from './missions-query.ts'
import { ResearchSections } from './research-section.tsx'
import { TaskGraph } from './task-graph.tsx'
import './missions.css'
import { missionsWords } from '../words/missions.ts'
import { generalWords } from '../words/general.ts'

export function MissionPage() {
  const { missionId } = useParams({ from: '/shell/missions/$missionId' })
  const { data: mission, error } = useQuery(missionQuery(missionId))
  return (
    <Page
      title={mission ? oneLine(visibleText(mission.description), 120) : missionsWords.mission}
      facts={mission && <Facts mission={mission} />}
      actions={mission && <Steer mission={mission} />}
      back={
        <Link to="/missions" className="button quiet square back" aria-label={missionsWords.backToMissions}>
          <BackIcon />
        </Link>
      }
    >
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {mission && <Mission mission={mission} />}
    </Page>
  )
}

const Facts = ({ mission }: { mission: MissionDetail }) => (
  <>
    <span data-testid="mission-status">
      <Status
        kind={MISSION_KINDS[mission.status]}
        word={mission.evaluating ? missionsWords.evaluating : STATUS_WORDS[mission.status]}
        isPill
      />
    </span>
    <span className="faint numeric">{roundOf(mission)}</span>
    <Link
      className="json-link"
      to="/sessions/$sessionId"
      params={{ sessionId: mission.session_id }}
      data-testid="mission-coordinator"
    >
      {missionsWords.coordinator}
    </Link>
  </>
)

function Mission({ mission }: { mission: MissionDetail }) {
  const isLive = !isMissionOver(mission.status)
  const { data: tasks = [] } = useQuery(missionTasksQuery(mission.mission_id, isLive))
  const { data: workers = [] } = useQuery(missionWorkersQuery(mission.mission_id, isLive))
  const { data: board } = useQuery(boardQuery(mission.session_id, isLive))
  return (
    <div className="mission" data-testid="mission" data-status={mission.status}>
      <div className="mission-top">
        <div className="mission-main">
          {mission.reason !== null && <p className="surface muted">{visibleText(mission.reason)}</p>}
          <MissionResult mission={mission} />
          <Definition mission={mission} />
        </div>
        <aside className="mission-side" aria-label={missionsWords.budget}>
          <Budget mission={mission} />
          {isLive && <Guidance sessionId={mission.session_id} />}
        </aside>
      </div>
      {mission.kind === 'research' && <ResearchSections missionId={mission.mission_id} isLive={isLive} />}
      <Rounds mission={mission} />
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

const Definition = ({ mission: { description, rubric } }: { mission: MissionDetail }) => (
  <details className="surface mission-definition">
    <summary>
      {missionsWords.goal} · {missionsWords.criteria}
    </summary>
    <p className="mission-text">
      <ExactText text={description} />
    </p>
    <p className="mission-text muted">
      <ExactText text={rubric} />
    </p>
  </details>
)

const Budget = ({ mission }: { mission: MissionDetail }) => (
  <section>
    <h2>{missionsWords.budget}</h2>
    <div className="surface">
      <p className="faint numeric">
        {generalWords.tokenCount(formatTokens(mission.spent.tokens))}
        {/* Hidden if no model has a price. */}
        {mission.spent.cost_usd > 0 && ` · ${formatCost(mission.spent.cost_usd)}`}
      </p>
      <BudgetBars mission={mission} />
      {mission.budget === null && <p className="faint">{missionsWords.noBudget}</p>}
    </div>
  </section>
)

function Workers({ workers }: { workers: readonly WorkerView[] }) {
  return (
    <section>
      <h2>{missionsWords.workers}</h2>
      <ul className="mission-workers" data-testid="mission-workers">
        {workers.map(worker => (
          <li key={worker.worker_id}>
            <StateMark session={asSession(worker)} />
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
    <>
      {status === 'active' ? button('pause', generalWords.pause) : button('resume', generalWords.resume)}
      {button('cancel', generalWords.cancel)}
      {steer.error && (
        <p className="inline-error" role="alert">
          {describeError(steer.error)}
        </p>
      )}
    </>
  )
}
