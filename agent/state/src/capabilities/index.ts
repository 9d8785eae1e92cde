/**
 * What each capability of the agent keeps of the log, one row each. The runner's position, the page's view
 * and the page's table of cards are all built from these keys: a new capability is one more row here.
 */
import type { SessionEvent } from '@cairn/protocol'
import { foldAdvice, noAdvice } from './advice.ts'
import { foldBoard, unread } from './board.ts'
import { foldChildren, noChildren } from './children.ts'
import { type CodeRun, foldCodeRuns, neededRuns, noRuns } from './code-runs.ts'
import { type CompactReason, foldCompacted } from './compacted.ts'
import { type ExpertRun, foldExperts } from './experts.ts'
import { foldGoal, type GoalState } from './goal.ts'
import { foldGrading, noGrading } from './grading.ts'
import { foldMission, type MissionState } from './mission.ts'
import { foldCommands, noCommands } from './pending-commands.ts'
import { foldProgress, noProgress } from './progress.ts'
import { foldProvisionalTitle } from './provisional-title.ts'
import { foldResearch, type ResearchState } from './research.ts'
import { foldReview, noReview } from './review.ts'
import { foldSaga, type SagaState } from './saga.ts'
import { foldTasks, noTasks } from './tasks.ts'
import { foldSpending, noSpending } from './spending.ts'
import { foldWaiting, nothingWaiting } from './waiting.ts'

/**
 * A pure fold: its initial state, the state after an event, and the part that a runner still needs after a
 * compaction. A state that grows with the session must return less there, because a runner's position is
 * bounded by the events since the last compaction. The page keeps everything.
 */
type Fold<S> = { empty: S; fold: (state: S, event: SessionEvent) => S; needed: (state: S) => S }
const row = <S>(
  empty: S,
  fold: (state: S, event: SessionEvent) => S,
  needed: (state: S) => S = state => state,
): Fold<S> => ({ empty, fold, needed })

export const CAPABILITY_FOLDS = {
  commands: row(noCommands, foldCommands),
  goal: row<GoalState>(null, foldGoal),
  grading: row(noGrading, foldGrading),
  advice: row(noAdvice, foldAdvice),
  compacted: row<CompactReason | null>(null, foldCompacted),
  /** The running saga, or the most recent one. */
  saga: row<SagaState>(null, foldSaga),
  experts: row<readonly ExpertRun[]>([], foldExperts, runs => runs.filter(run => run.status === 'working')),
  progress: row(noProgress, foldProgress),
  review: row(noReview, foldReview),
  waiting: row(nothingWaiting, foldWaiting),
  provisional_title: row<string | null>(null, foldProvisionalTitle),
  children: row(noChildren, foldChildren),
  tasks: row(noTasks, foldTasks),
  spending: row(noSpending, foldSpending),
  board: row(unread, foldBoard),
  mission: row<MissionState>(null, foldMission),
  /** Runs of coding agents, newest last. */
  code: row<readonly CodeRun[]>(noRuns, foldCodeRuns, neededRuns),
  research: row<ResearchState>(null, foldResearch),
}
type Folds = typeof CAPABILITY_FOLDS
export type CapabilityName = keyof Folds
export type CapabilityStates = { readonly [K in CapabilityName]: Folds[K]['empty'] }

const NAMES = Object.keys(CAPABILITY_FOLDS) as CapabilityName[]

export const emptyCapabilities = Object.fromEntries(
  NAMES.map(name => [name, CAPABILITY_FOLDS[name].empty]),
) as CapabilityStates

/** The states that an event changes; most events change none or one. */
export function capabilityChanges(before: CapabilityStates, event: SessionEvent): Partial<CapabilityStates> {
  const changes: Partial<Record<CapabilityName, unknown>> = {}
  for (const name of NAMES) {
    const state = foldOne(name, before, event)
    if (state !== before[name]) changes[name] = state
  }
  return changes as Partial<CapabilityStates>
}

/** The same table, typed so that each key goes with its own state. */
const FOLDS: { readonly [K in CapabilityName]: Fold<CapabilityStates[K]> } = CAPABILITY_FOLDS

const foldOne = <K extends CapabilityName>(
  name: K,
  before: CapabilityStates,
  event: SessionEvent,
): CapabilityStates[K] => FOLDS[name].fold(before[name], event)

/** The part of the states that a runner keeps after a compaction. */
export const neededCapabilities = (states: CapabilityStates): CapabilityStates =>
  Object.fromEntries(NAMES.map(name => [name, needOne(name, states)])) as CapabilityStates

const needOne = <K extends CapabilityName>(name: K, states: CapabilityStates): CapabilityStates[K] =>
  FOLDS[name].needed(states[name])
