/** One mission: its state and commands, verdicts, tasks, board and workers. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Button } from 'react-aria-components'
import {
  isMissionOver,
  type MissionDetail,
  type TaskView,
  visibleText,
  type WorkerView,
} from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { boardQuery } from '../board/board-query.ts'
import { Note } from '../board/note.tsx'
import { formatCost, formatTokens, oneLine } from '../format.ts'
import { StateMark } from '../sessions/session-state.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { BackIcon } from '../ui/icons.tsx'
import { Page } from '../ui/page.tsx'
import { Status } from '../ui/status.tsx'
import { TimeOf } from '../ui/time-of.tsx'
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
  <div className="mission-facts">
    <span data-testid="mission-status">
      <Status
        kind={MISSION_KINDS[mission.status]}
        word={mission.evaluating ? missionsWords.evaluating : STATUS_WORDS[mission.status]}
        isPill
      />
    </span>
    <span className="faint numeric">{roundOf(mission)}</span>
    <span className="faint numeric mission-started">
      {missionsWords.started} <TimeOf at={mission.created_at} />
    </span>
    <Link
      className="json-link"
      to="/sessions/$sessionId"
      params={{ sessionId: mission.session_id }}
      data-testid="mission-coordinator"
    >
      {missionsWords.coordinator}
    </Link>
  </div>
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
          <h2>
            {missionsWords.tasks} <span className="faint numeric">{doneOf(tasks)}</span>
          </h2>
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

const doneOf = (tasks: readonly TaskView[]): string =>
  missionsWords.tasksDone(tasks.filter(({ status }) => status === 'done').length, tasks.length)

/** With a result, the criteria are listed there. */
const Definition = ({ mission: { description, rubric, verdicts } }: { mission: MissionDetail }) => (
  <details className="surface mission-definition">
    <summary>
      {verdicts.length > 0 ? missionsWords.goal : `${missionsWords.goal} · ${missionsWords.criteria}`}
    </summary>
    <p className="mission-text">
      <ExactText text={description} />
    </p>
    {verdicts.length === 0 && (
      <p className="mission-text muted">
        <ExactText text={rubric} />
      </p>
    )}
  </details>
)

function Budget({ mission }: { mission: MissionDetail }) {
  const { budget, spent } = mission
  const unlimited = [
    ...(budget?.max_tokens === undefined
      ? [{ name: missionsWords.budgetOf.tokens, amount: formatTokens(spent.tokens) }]
      : []),
    // Left out if no model has a price.
    ...(budget?.max_cost_usd === undefined && spent.cost_usd > 0
      ? [{ name: missionsWords.budgetOf.USD, amount: formatCost(spent.cost_usd) }]
      : []),
  ]
  return (
    <section>
      <h2>{missionsWords.budget}</h2>
      <div className="surface mission-budget">
        <BudgetBars mission={mission} />
        {unlimited.map(({ name, amount }) => (
          <p key={name}>
            {name} <strong className="numeric">{amount}</strong>
          </p>
        ))}
        {budget === null && <p className="faint">{missionsWords.noBudget}</p>}
      </div>
    </section>
  )
}

function Workers({ workers }: { workers: readonly WorkerView[] }) {
  return (
    <section>
      <h2>{missionsWords.workers}</h2>
      <ul className="list mission-workers" data-testid="mission-workers">
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
      className={action === 'cancel' ? 'button danger' : 'button'}
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
