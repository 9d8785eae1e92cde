/** The parts of the overview, by capability; null for a capability that shows nothing there. */
import type { ReactNode } from 'react'
import type { Session } from '@cairn/protocol'
import {
  isMissionUnderWay,
  type CapabilityName,
  type CapabilityStates,
  hasTasks,
  type SessionView,
} from '@cairn/state'
import { BoardCard } from './board-card.tsx'
import { CodeCard } from './code-card.tsx'
import { ChildrenCard } from './children-card.tsx'
import { GoalCard } from './goal-card.tsx'
import { MissionCard } from './mission-card.tsx'
import { SagaCard } from './saga-card.tsx'
import { TasksCard } from './tasks-card.tsx'

type Around = {
  sessionId: string
  session: Session | undefined
  view: SessionView
  onEvent: (id: number) => void
}
type Card<S> = (state: S, around: Around) => ReactNode

const CARDS: { readonly [K in CapabilityName]: Card<CapabilityStates[K]> | null } = {
  commands: null,
  code: runs => {
    const run = runs.at(-1)
    return run && <CodeCard key={run.run_id} run={run} />
  },
  goal: (goal, { sessionId, session, view }) =>
    goal && (
      <GoalCard
        key={goal.outcome_id}
        sessionId={sessionId}
        goal={goal}
        isUnpriced={view.unpriced_models.length > 0}
        isArchived={session?.status === 'archived'}
      />
    ),
  grading: null,
  advice: null,
  compacted: null,
  saga: (saga, { onEvent }) =>
    saga && saga.steps.length > 0 && <SagaCard key={saga.saga_id} saga={saga} onEvent={onEvent} />,
  // Shown at the consult_expert call.
  experts: null,
  progress: null,
  review: null,
  // Shown in the inbox.
  spending: null,
  waiting: null,
  provisional_title: null,
  // The results appear among the messages.
  children: (children, { sessionId }) =>
    children.open.length > 0 && <ChildrenCard sessionId={sessionId} state={children} />,
  tasks: (_, { sessionId, view: { children } }) =>
    hasTasks(children) && <TasksCard sessionId={sessionId} state={children} />,
  board: ({ at, shared }, { sessionId, session, view: { children } }) =>
    (shared || at !== null) && (
      <BoardCard sessionId={sessionId} isLive={children.open.length > 0 || (session?.depth ?? 0) > 0} />
    ),
  // Shown on the mission's page.
  research: null,
  mission: mission => isMissionUnderWay(mission) && <MissionCard mission={mission} />,
}
const NAMES = Object.keys(CARDS) as CapabilityName[]

const draw = <K extends CapabilityName>(name: K, around: Around): ReactNode =>
  CARDS[name]?.(around.view[name], around) ?? null

export const Cards = (around: Around): ReactNode => NAMES.map(name => draw(name, around))
