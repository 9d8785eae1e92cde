/**
 * An agent's own reports: progress of long work (inbox.progress_checkin) and its end (inbox.task_complete).
 * docs/inbox.md.
 */
import { CommitRefused, type EventWithRows, type RowChange } from '@cairn/log'
import { clip, type AgentConfig } from '@cairn/protocol'
import {
  openBlockedGoals,
  openCheckIns,
  createGoalBlockedItem,
  createProgressItem,
  createTaskCompleteItem,
} from '@cairn/sessions'
import type { Goal, Progress } from '@cairn/state'
import { recapTurn } from '../../tools/recap.ts'
import type { Ending } from '../../turn/capability.ts'
import type { TurnContext } from '../../turn/context.ts'
import type { FinishReason } from '../../turn/asks.ts'

const MINUTE = 60_000
const SUMMARY_CHARS = 1000
const SHOWN_CALLS = 8

/** Whether to report progress before the next model call. */
function checkInDue(
  { started_at, since_at, iterations, told }: Progress,
  { checkin_minutes, checkin_iterations }: AgentConfig['inbox'],
  now: number,
): boolean {
  if (started_at === null || since_at === null || iterations === told) return false
  return (
    now - Date.parse(since_at) >= checkin_minutes * MINUTE ||
    (checkin_iterations !== undefined && iterations - told >= checkin_iterations)
  )
}

/** When a check-in is due, commits the event, its item, and the end of the previous item. */
export async function checkIn(turn: TurnContext, before: readonly EventWithRows[]): Promise<void> {
  const { log, setup, clock } = turn
  const { progress } = log.position()
  if (
    log.session().parent_id !== null ||
    progress.started_at === null ||
    !checkInDue(progress, setup.agent.inbox, clock.now())
  )
    return
  const created = createProgressItem(turn, {
    progress_summary: clip(describeProgress(turn), SUMMARY_CHARS),
    iterations: progress.iterations,
    last_tool: progress.last_tool,
    elapsed_seconds: elapsed(progress.started_at, clock.now()),
  })
  try {
    await log.append([...before, created.event], { rows: await endCheckIns(turn) })
  } catch (error) {
    // The previous item was acknowledged at this moment; the next iteration checks in.
    if (!(error instanceof CommitRefused) || error.refusal !== 'already_answered') throw error
  }
}

function describeProgress({ log }: TurnContext): string {
  const {
    turn,
    goal,
    progress: { plan },
  } = log.position()
  const done = plan.filter(todo => todo.status === 'completed').length
  const now = plan.find(todo => todo.status === 'in_progress')
  return (
    [
      ...(turn.calls.length > 0 ? [`${recapTurn(turn.calls.slice(-SHOWN_CALLS))}.`] : []),
      ...(plan.length > 0
        ? [`Plan: ${done} of ${plan.length} done${now ? `; now: ${now.content}` : ''}.`]
        : []),
      ...(goal?.status === 'active'
        ? [`Goal: ${goal.description} (graded ${goal.iteration} of at most ${goal.max_iterations} times).`]
        : []),
    ].join('\n') || 'Working on the answer.'
  )
}

/**
 * Added after the session.complete of work that took long, and of a goal that was not reached; nothing for
 * short work. A blocked goal raises an action, so that the session shows that it needs a person.
 */
export async function announceEnd(turn: TurnContext, reason: FinishReason): Promise<Ending> {
  const { log, setup, clock } = turn
  const { progress, goal, conversation, turn: at } = log.position()
  const session = log.session()
  if (progress.started_at === null || session.parent_id !== null) return {}
  const stale = [
    ...(progress.told > 0 ? await endCheckIns(turn) : []),
    ...(session.waiting_on === 'action' ? superseded(await openBlockedGoals(turn.store, session)) : []),
  ]
  const ended = endedGoal(turn)
  const asks = ended?.status === 'blocked' ? [createGoalBlockedItem(turn, ended).event] : []
  const duration_seconds = elapsed(progress.started_at, clock.now())
  const isShort = duration_seconds * 1000 < setup.agent.inbox.task_complete_minutes * MINUTE
  const isTold = ended !== null && (ended.status === 'failed' || ended.status === 'max_iterations_reached')
  if (isShort && !isTold) return { after: asks, rows: stale }
  const answer =
    conversation.entries.findLast(entry => entry.message.role === 'assistant')?.message.content.trim() ?? ''
  const result = goal !== null && goal.verdicts.length > 0 && goal.status !== 'active' ? goal.status : reason
  const created = createTaskCompleteItem(turn, {
    outcome: result === 'completed' || result === 'satisfied' ? 'success' : result,
    summary: clip(answer === '' ? recapTurn(at.calls) : answer, SUMMARY_CHARS),
    duration_seconds,
    session_title: session.title,
  })
  return { after: [...asks, created.event], rows: stale }
}

/** The goal that the verdict on this turn ended; null: none. */
function endedGoal({ log }: TurnContext): Goal | null {
  const { goal, grading, conversation } = log.position()
  const isOver = goal !== null && goal.status !== 'active' && goal.status !== 'paused'
  const answer = conversation.entries.findLast(entry => entry.message.role === 'assistant')
  return isOver && grading.last?.response_id === answer?.event_id ? goal : null
}

const endCheckIns = async ({ store, log }: TurnContext): Promise<RowChange[]> =>
  superseded(await openCheckIns(store, log.session()))

const superseded = (ids: readonly string[]): RowChange[] =>
  ids.map(id => ({ do: 'inbox.answer', id, decision: 'superseded', status: 'expired' }))

const elapsed = (from: string, now: number): number => Math.max(0, (now - Date.parse(from)) / 1000)
