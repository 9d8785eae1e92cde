/**
 * The runner's next step, decided from the position alone (contract 7). The turn is a loop of: fold the log,
 * decide here, do it. No step keeps state outside the log, so a turn survives an interruption at any point.
 *
 *   rest        nothing needs an answer
 *   leave       close calls that an ended turn left open, without starting them
 *   run         run calls of the last answer that have no result
 *   unask       close a question that the user answered by a message instead
 *   conclude    write the results of answered questions
 *   wait        a question or an action waits for the user: release the lease
 *   request     call the model, with reminders added to the conversation
 *   escalate    switch to the stronger model
 *   give_up     even the strongest model gives empty answers
 *   finish      the turn is over
 *   capability  due work of a capability (capability.ts)
 */
import { type ConversationEntry, type OpenCall, parkedCalls } from '@cairn/state'
import type { Asking, Asks, FinishReason } from './asks.ts'
import type { Position } from './position.ts'

/** A reminder to the model for one call, never logged; whether it is added follows from the log. */
export type Reminder = 'empty' | 'continue' | 'last_call'
export type Step =
  | { do: 'rest' }
  | { do: 'wait' }
  | { do: 'escalate' }
  | { do: 'give_up' }
  | { do: 'leave'; calls: readonly OpenCall[] }
  | { do: 'run'; calls: readonly OpenCall[] }
  | { do: 'unask'; calls: readonly OpenCall[] }
  | { do: 'conclude'; calls: readonly OpenCall[] }
  | { do: 'request'; with_tools: boolean; reminders: readonly Reminder[] }
  | { do: 'finish'; reason: FinishReason }
  | { do: 'capability'; name: string; due: unknown }

type RequestStep = Extract<Step, { do: 'request' }>

export type TurnLimits = { max_iterations: number; can_escalate: boolean }

/** Maximum reminders before a silent model is abandoned or replaced. */
const MAX_NUDGES = 2
/** Maximum continuations of an answer that was cut at its length limit. */
export const CONTINUATIONS = 3
/** The same call with the same result this many times in a row is a loop. */
export const LOOP_LENGTH = 5

export function nextStep(position: Position, limits: TurnLimits, table: readonly Asking[] = []): Step {
  const wanted = (ask: (asks: Asks<unknown>) => unknown): Step | null => {
    for (const { name, asks } of table) {
      const due = ask(asks) ?? null
      if (due !== null) return { do: 'capability', name, due }
    }
    return null
  }
  const ending = (ask: (asks: Asks<unknown>) => FinishReason | null | undefined): Step | null => {
    const reason = table.map(({ asks }) => ask(asks) ?? null).find(found => found !== null)
    return reason ? { do: 'finish', reason } : null
  }

  // Before everything else: a command that clears the conversation removes the call and its result together.
  const answered = position.conversation.open.filter(call => call.state === 'answered')
  if (answered.length > 0) return { do: 'conclude', calls: answered }
  const first = wanted(asks => asks.first?.(position))
  if (first) return first
  const step = turnStep(position, limits)
  switch (step.do) {
    case 'rest':
      return ending(asks => asks.at_rest?.(position)) ?? step
    case 'request': {
      const over = ending(asks => asks.isOver?.(position))
      if (over) return end(over)
      const isLast = table.some(({ asks }) => asks.isLast?.(position) === true)
      const asked = isLast ? lastCall(step) : step
      return wanted(asks => asks.before_request?.(position, asked)) ?? asked
    }
    case 'finish':
      return end(step)
    default:
      return step
  }

  function end(finish: Step): Step {
    const isTurn = position.turn.turn_id !== null || asksForTurn(position)
    return finish.do === 'finish' && isTurn
      ? (wanted(asks => asks.at_end?.(position, finish.reason)) ?? finish)
      : finish
  }
}

function turnStep(position: Position, limits: TurnLimits): Step {
  const { conversation, turn, answer } = position
  const inTurn = turn.turn_id !== null
  if (!inTurn && !asksForTurn(position)) return { do: 'rest' }

  const waits = ({ state, tool_call_id }: OpenCall): boolean =>
    state === 'waiting' || parkedCalls(position.code).includes(tool_call_id)
  const unanswered = conversation.open.filter(call => !waits(call))
  if (unanswered.length > 0) return { do: inTurn ? 'run' : 'leave', calls: unanswered }
  if (conversation.open.length > 0) {
    const stopped = conversation.open.filter(call => isStopped(position, call.tool_call_id))
    if (stopped.length > 0) return { do: 'leave', calls: stopped }
    const passedOver = conversation.open.filter(
      call => position.spoken_id > askedAt(position, call.tool_call_id),
    )
    return passedOver.length > 0 ? { do: 'unask', calls: passedOver } : { do: 'wait' }
  }

  const last = conversation.deferred.findLast(isLoud) ?? conversation.entries.findLast(isLoud)
  if (!inTurn && last?.message.role === 'assistant') return { do: 'finish', reason: 'completed' }
  // A message that arrived during the wait takes priority; it also ends the wait.
  if (inTurn && position.action_id !== null && last?.message.role === 'tool') return { do: 'wait' }
  const seen =
    answer !== null &&
    (last === undefined || last.message.role === 'assistant' || last.event_id < answer.request_id)
  if (seen && !turn.requested && answer.call_ids.length === 0) return afterAnswer(position, answer, limits)
  if (last?.message.role === 'tool' && isLooping(position)) return { do: 'finish', reason: 'tool_loop' }
  return request(position, limits, turn.empty_answers > 0 ? ['empty'] : [])
}

/** The last answer had no calls, and nothing arrived since. */
function afterAnswer(position: Position, answer: NonNullable<Position['answer']>, limits: TurnLimits): Step {
  const { turn } = position
  // The last call of the budget is final: even an empty or truncated answer is not followed by another call.
  if (isLastCall(answer.iteration_index, limits)) return { do: 'finish', reason: 'budget_exhausted' }
  if (answer.empty) {
    const escalated = turn.escalated_model !== null
    if (turn.empty_answers <= (escalated ? 0 : MAX_NUDGES)) return request(position, limits, ['empty'])
    return { do: !escalated && limits.can_escalate ? 'escalate' : 'give_up' }
  }
  if (answer.finish_reason === 'length' && position.cut_answers <= CONTINUATIONS)
    return request(position, limits, ['continue'])
  return { do: 'finish', reason: 'completed' }
}

const isLastCall = (iteration: number, { max_iterations }: TurnLimits): boolean =>
  iteration >= max_iterations - 1

/**
 * The last call of the budget has no tools: it must answer. A person's later message gets one more such call,
 * so that it is never left unanswered.
 */
function request({ turn }: Position, limits: TurnLimits, reminders: readonly Reminder[]): Step {
  const step: RequestStep = { do: 'request', with_tools: true, reminders }
  return isLastCall(turn.next_iteration, limits) ? lastCall(step) : step
}

const lastCall = (step: RequestStep): RequestStep =>
  step.with_tools ? { ...step, with_tools: false, reminders: [...step.reminders, 'last_call'] } : step

/**
 * Between turns: whether something entered the conversation since the last one ended. A failed turn is
 * retried as it is. The newest entry need not be the last: the answer to a stopped turn's question is placed
 * at its call, before later messages.
 */
function asksForTurn({ conversation: { entries, deferred }, ended, rolled_back_id }: Position): boolean {
  const isNew = ({ event_id, quiet }: ConversationEntry): boolean =>
    quiet !== true &&
    event_id !== rolled_back_id &&
    (ended === null || ended.by === 'session.fail' || event_id > ended.id)
  return deferred.findLast(isNew) !== undefined || entries.findLast(isNew) !== undefined
}

const isLoud = ({ quiet }: ConversationEntry): boolean => quiet !== true

const askedAt = ({ questions }: Position, callId: string): number =>
  questions.find(question => question.tool_call_id === callId)?.asked_at ?? Number.POSITIVE_INFINITY

/** A stop ended the turn that asked, and its question with it: its answer is no longer needed. */
const isStopped = ({ ended, questions }: Position, callId: string): boolean =>
  ended?.by === 'session.stopped' &&
  questions.some(({ tool_call_id, asked_at }) => tool_call_id === callId && asked_at < ended.id)

function isLooping({ turn }: Position): boolean {
  const tail = turn.calls.slice(-LOOP_LENGTH)
  const [first] = tail
  return (
    first !== undefined &&
    tail.length === LOOP_LENGTH &&
    tail.every(
      call =>
        call.name === first.name && call.arguments === first.arguments && call.content === first.content,
    )
  )
}
