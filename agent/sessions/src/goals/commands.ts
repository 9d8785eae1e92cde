/**
 * Goals of a session (contract 14.10, 10). The only writer of user.define_outcome, outcome.defined,
 * outcome.paused and outcome.cleared: the API defines goals, and the runner handles `/goal` with the events
 * created here. One goal at a time.
 */
import { CommitRefused } from '@cairn/log'
import {
  AppError,
  type EventData,
  type EventDraft,
  type EventId,
  formatCost,
  formatTokens,
  oneLine,
  writer,
} from '@cairn/protocol'
import {
  type Goal,
  type GoalCommand,
  type GoalState,
  isMissionUnderWay,
  type Mission,
  type MissionState,
} from '@cairn/state'
import type { Deps } from '../deps.ts'
import { sessionResumed } from '../events/lifecycle.ts'
import { syntheticMessage, TAKES_INPUT } from '../events/messages.ts'
import { readFolded } from '../read-folded.ts'
import { refusedAs } from '../refusals.ts'

const write = writer('goals')
/** The maximum and default of max_iterations (contract 10.8). */
export const MAX_GOAL_ITERATIONS = 20
export const DEFAULT_RUBRIC = 'The goal is fully reached as stated, and the work shown proves it.'

type Message = EventData<'user.message'>
export type GoalInput = {
  description: string
  rubric: EventData<'user.define_outcome'>['rubric']
  max_iterations?: number | undefined
}
export type DefinedGoal = {
  type: 'user.define_outcome'
  event_id: EventId
  outcome_id: string
  processed_at: string
}

/** A goal that is active or paused; a new one must not replace it silently. */
const isUnderWay = (goal: GoalState): goal is Goal => goal?.status === 'active' || goal?.status === 'paused'

/**
 * Defines all goals or none. Of several, each replaces the previous one, so work starts on the last, with the
 * synthetic message that follows it. Throws if an earlier goal is active or paused.
 */
export async function defineOutcomes(
  deps: Deps,
  sessionId: string,
  goals: readonly GoalInput[],
): Promise<DefinedGoal[]> {
  for (;;) {
    const {
      states: { goal, mission },
      seen,
    } = await readFolded(deps.store, sessionId)
    const parent_id = (await deps.store.sessions.get(sessionId))?.parent_id ?? null
    if (parent_id !== null)
      throw new AppError(
        'wrong_state',
        'A worker cannot have a goal: set it on a session without a parent.',
        { extra: { parent_id } },
      )
    if (isMissionUnderWay(mission)) throw new AppError('wrong_state', hasMission(mission))
    if (isUnderWay(goal))
      throw new AppError(
        'wrong_state',
        `The session already has a goal that is ${goal.status}: ` +
          `${JSON.stringify(goal.description)}. Remove it with /goal clear first.`,
      )
    try {
      return await commitGoals(deps, sessionId, goals, seen)
    } catch (error) {
      if (!(error instanceof CommitRefused)) throw error
      // Something was added in between, perhaps another goal: retry.
      if (error.refusal !== 'new_work') throw refusedAs('set a goal for', sessionId, error)
    }
  }
}

async function commitGoals(
  { store, now, newId }: Deps,
  sessionId: string,
  goals: readonly GoalInput[],
  seen: EventId,
): Promise<DefinedGoal[]> {
  const processed_at = new Date(now()).toISOString()
  const outcomes = goals.map(goal => ({
    ...describe(goal.description, goal.rubric, newId()),
    max_iterations: Math.min(goal.max_iterations ?? MAX_GOAL_ITERATIONS, MAX_GOAL_ITERATIONS),
    processed_at,
  }))
  const active = outcomes.at(-1)
  if (!active) return []
  const { events } = await store.commit({
    session_id: sessionId,
    expect_status: TAKES_INPUT,
    expect_no_work_after: seen,
    reopen: sessionResumed('goal'),
    events: [...outcomes.map(outcome => write('user.define_outcome', outcome)), kickoff(active)],
  })
  // A resume that reopened the session may precede the goals.
  const ids = events.filter(event => event.type === 'user.define_outcome').map(event => event.id)
  return outcomes.map((outcome, index) => {
    const event_id = ids[index]
    if (event_id === undefined)
      throw new Error('[defineOutcomes] the store acknowledged fewer events than were committed')
    return { type: 'user.define_outcome', event_id, outcome_id: outcome.outcome_id, processed_at }
  })
}

/** Error message for a session with a mission, which cannot have a goal. */
const hasMission = ({ status, description }: Mission): string =>
  `The session has a mission that is ${status}: ${JSON.stringify(description)}. ` +
  'Set a goal after it has ended, or in another session.'

const describe = (
  description: string,
  rubric: EventData<'outcome.defined'>['rubric'],
  outcome_id: string,
): EventData<'outcome.defined'> => ({ outcome_id, description, rubric, max_iterations: MAX_GOAL_ITERATIONS })

const kickoff = (
  { outcome_id, description }: Pick<Goal, 'outcome_id' | 'description'>,
  carried: Pick<Message, 'attachments' | 'images'> = {},
): EventDraft<'user.message'> => syntheticMessage('outcome_kickoff', description, { outcome_id, ...carried })

/** The effect of a `/goal` command: events before the reply, the reply, and what the agent reads after it. */
export type GoalAction = { before: readonly EventDraft[]; reply: string; after: readonly EventDraft[] }
const replyOnly = (reply: string): GoalAction => ({ before: [], reply, after: [] })

/** `carried` are the files and images of the command's message, passed on to the work on the goal. */
export function actOnGoal(
  goal: GoalState,
  command: GoalCommand,
  newId: () => string,
  carried: Pick<Message, 'attachments' | 'images'> = {},
  mission: MissionState = null,
): GoalAction {
  switch (command.action) {
    case 'define': {
      if (isMissionUnderWay(mission)) return replyOnly(hasMission(mission))
      if (isUnderWay(goal))
        return replyOnly(
          `A goal exists already, ${goal.status}: ${goal.description}\nRemove it with /goal ` +
            'clear, then set the new one.',
        )
      const defined = describe(
        command.description,
        { type: 'text', content: command.rubric ?? DEFAULT_RUBRIC },
        newId(),
      )
      return {
        before: [write('outcome.defined', defined)],
        after: [kickoff(defined, carried)],
        reply:
          `Goal set. It is graded after every turn, at most ${defined.max_iterations} times.\n\n` +
          `Rubric:\n\n${defined.rubric.content}`,
      }
    }
    case 'status':
      return replyOnly(goal === null ? 'No goal is set. Set one with /goal <text>.' : report(goal))
    case 'pause':
      if (goal?.status !== 'active')
        return replyOnly(
          goal?.status === 'paused'
            ? 'The goal is already paused. Use /goal resume to continue.'
            : 'No goal is active.',
        )
      return {
        before: [write('outcome.paused', { outcome_id: goal.outcome_id, reason: 'user-paused' })],
        reply: 'Goal paused. Use /goal resume to continue.',
        after: [],
      }
    case 'resume': {
      if (goal?.status !== 'paused')
        return replyOnly(goal?.status === 'active' ? 'The goal is already active.' : 'No goal is paused.')
      return {
        before: [],
        reply: 'Goal resumed.',
        after: [syntheticMessage('outcome_resumed', resumption(goal), { outcome_id: goal.outcome_id })],
      }
    }
    case 'clear':
      return isUnderWay(goal)
        ? {
            before: [write('outcome.cleared', { outcome_id: goal.outcome_id })],
            reply: 'Goal removed.',
            after: [],
          }
        : {
            before: [write('outcome.cleared', { outcome_id: null })],
            reply: 'No goal was active.',
            after: [],
          }
  }
}

/** What the agent reads when a verdict asks for more work. */
export const continuation = (goal: Goal): EventDraft<'user.message'> =>
  syntheticMessage(
    'outcome_continuation',
    [
      `The goal is not reached yet (evaluation ${goal.iteration} of at most ${goal.max_iterations}): ` +
        `${goal.description}`,
      ...lastFeedback(goal),
      'Continue.',
    ].join('\n\n'),
    { outcome_id: goal.outcome_id },
  )

const resumption = (goal: Goal): string =>
  [`Continue working toward the goal: ${goal.description}`, ...lastFeedback(goal)].join('\n\n')

function lastFeedback({ verdicts, rubric }: Goal): string[] {
  const feedback = verdicts.at(-1)?.feedback ?? ''
  return feedback === ''
    ? [`It is graded by this rubric:\n${rubric}`]
    : [`The evaluator's feedback on what is missing:\n${feedback}`]
}

function report({ status, description, rubric, iteration, max_iterations, verdicts, spent }: Goal): string {
  const last = verdicts.at(-1)
  return [
    `Goal (${status.replaceAll('_', ' ')}): ${description}`,
    '',
    `- Evaluations: ${iteration} of at most ${max_iterations}`,
    ...(last
      ? [`- Last verdict: ${last.result.replaceAll('_', ' ')}. ${oneLine(last.explanation, 1000)}`]
      : []),
    `- Spent: ${formatTokens(spent.tokens)} tokens, ${formatCost(spent.cost_usd)}`,
    '',
    `Rubric:\n\n${rubric}`,
  ].join('\n')
}
