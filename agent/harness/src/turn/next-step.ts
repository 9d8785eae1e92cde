/**
 * What a worker does next, decided from the position alone (contract 7). The turn is a loop of: fold
 * the log, ask here, do it. No step remembers anything outside the log, which is why a turn survives being
 * cut anywhere.
 *
 *   rest       nothing asks for an answer
 *   leave      calls left open by a turn that ended: they are closed, never started
 *   run        calls of the last answer without a result
 *   unask      a question that the user answered by a message instead
 *   wait       a question or an action is with the user: give the lease back
 *   request    call the model; `prod` says what it is told beside the conversation
 *   compact    summarise the older part of the conversation before the next request
 *   escalate   swap to the stronger model
 *   give_up    the model answers with nothing, whoever is asked
 *   command    a slash command to act on, or a skill to expand
 *   advise     ask the advisor, or close a request of it that nobody will finish
 *   evaluate   grade the turn that is about to end against the active goal
 *   continue   the verdict asks for more work: a new turn begins
 *   finish     the turn is over
 */
import type { AdvisorConfig, EventId } from '@cairn/protocol'
import { type AdviceCategory, adviceDue } from '../advisor/due.ts'
import { cutDue, type Room } from '../compaction/due.ts'
import { type Goal, type OpenCall, parseSlashCommand, type SlashCommand } from '@cairn/state'
import type { Position, Slashed } from './position.ts'

/** Said to the model for one call and never logged; whether it is said follows from the log. */
export type Prod = 'empty' | 'continue' | 'last_call'
export type FinishReason = 'completed' | 'budget_exhausted' | 'tool_loop'
export type Step =
  | { do: 'rest' }
  | { do: 'wait' }
  | { do: 'escalate' }
  | { do: 'give_up' }
  | { do: 'leave'; calls: readonly OpenCall[] }
  | { do: 'run'; calls: readonly OpenCall[] }
  | { do: 'unask'; calls: readonly OpenCall[] }
  | { do: 'request'; with_tools: boolean; prods: readonly Prod[] }
  | { do: 'finish'; reason: FinishReason }
  | {
      do: 'command'
      message: Slashed
      command: SlashCommand
      /** Everything up to here a /clear takes away. */ through: EventId
    }
  | {
      do: 'evaluate'
      response_id: EventId
      /** The budget of the goal that is used up in the middle of the turn. */ overspent: string | null
    }
  | { do: 'continue' }
  | { do: 'advise'; /** Null: only close what is open. */ category: AdviceCategory | null }
  | { do: 'compact'; room: Room }

export type TurnLimits = {
  max_iterations: number
  can_escalate: boolean
  /** Whether a skill of that name can be invoked. */
  isSkill?: (name: string) => boolean
  /** Which budget of the goal is used up, in words; null when none is. */
  overspent?: (goal: Goal) => string | null
  /** Absent: no advisor. */
  advisor?: AdvisorConfig
  /**
   * The room there is with the model that is called next (the one escalated to, or null for the agent's);
   * null: not known.
   */
  room?: (escalated: string | null) => Room | null
}

/** Nudges before a silent model is given up or swapped. */
export const NUDGES = 2
/** How often an answer that was cut for its length is continued. */
export const CONTINUATIONS = 3
/** The same call with the same result, so often in a row, is a loop. */
export const LOOP_LENGTH = 5

export function nextStep(position: Position, limits: TurnLimits): Step {
  const commands = pendingCommands(position, limits)
  const inTurn = position.turn.turn_id !== null
  // What clears or compresses the conversation waits for the end of the turn: a call and its result are never
  // parted.
  const now = commands.find(step => !inTurn || !changesConversation(step))
  if (now) return now
  if (inTurn && position.advice.open !== null) return { do: 'advise', category: null }
  const step = turnStep(position, limits)
  if (
    step.do === 'finish' &&
    step.reason === 'completed' &&
    findOverspent(position, limits) === null &&
    askAdvisor(position, true, limits)
  )
    return { do: 'advise', category: 'review' }
  if (step.do === 'finish' && (inTurn || asksForTurn(position))) return atTurnEnd(position, step, commands)
  const { answer } = position
  if (step.do !== 'request') return step
  const overspent = inTurn && answer !== null ? findOverspent(position, limits) : null
  if (overspent !== null && answer !== null) return { do: 'evaluate', response_id: answer.id, overspent }
  const advice = step.with_tools ? askAdvisor(position, false, limits) : null
  if (advice !== null) return { do: 'advise', category: advice }
  const room = limits.room?.(position.turn.escalated_model) ?? null
  return room !== null && cutDue(position, room) !== null ? { do: 'compact', room } : step
}

const findOverspent = ({ goal }: Position, { overspent }: TurnLimits): string | null =>
  goal?.status === 'active' ? (overspent?.(goal) ?? null) : null
const askAdvisor = (
  position: Position,
  finishing: boolean,
  { advisor }: TurnLimits,
): AdviceCategory | null => (advisor === undefined ? null : adviceDue(position, finishing, advisor))

type CommandStep = Extract<Step, { do: 'command' }>
const changesConversation = ({ command: { command } }: CommandStep): boolean =>
  command === 'clear' || command === 'compress'

export function pendingCommands(
  { slashed, turn, last_id }: Position,
  { isSkill = () => false }: Pick<TurnLimits, 'isSkill'>,
): CommandStep[] {
  return slashed.flatMap(message => {
    const command = parseSlashCommand(message.content, isSkill)
    return command === null
      ? []
      : [
          {
            do: 'command' as const,
            message,
            command,
            through: turn.turn_id === null ? message.event_id : last_id,
          },
        ]
  })
}

/**
 * A turn that did not fail: graded while a goal is active, then cleared if that was asked, then gone on with
 * or over.
 */
function atTurnEnd(
  { goal, graded, answer, conversation }: Position,
  finish: Step,
  commands: readonly CommandStep[],
): Step {
  const response_id =
    answer?.id ?? conversation.entries.findLast(entry => entry.message.role === 'assistant')?.event_id
  const isGraded = response_id === undefined || graded?.response_id === response_id
  if (goal !== null && !isGraded && (goal.status === 'active' || goal.open !== null))
    return { do: 'evaluate', response_id, overspent: null }
  const change = commands.find(changesConversation)
  if (change) return change
  return goal?.status === 'active' && goal.owed !== null && isGraded ? { do: 'continue' } : finish
}

function turnStep(position: Position, limits: TurnLimits): Step {
  const { conversation, turn, answer, graded } = position
  const inTurn = turn.turn_id !== null
  if (!inTurn && !asksForTurn(position)) {
    // Nothing but a command was said: it needs no turn. What a stop left open stays as the stop left it.
    return position.replied && conversation.open.length === 0
      ? { do: 'finish', reason: 'completed' }
      : { do: 'rest' }
  }

  const unanswered = conversation.open.filter(call => call.state !== 'waiting')
  if (unanswered.length > 0) return { do: inTurn ? 'run' : 'leave', calls: unanswered }
  if (conversation.open.length > 0) {
    const passedOver = conversation.open.filter(
      call => position.spoken_id > askedAt(position, call.tool_call_id),
    )
    return passedOver.length > 0 ? { do: 'unask', calls: passedOver } : { do: 'wait' }
  }

  const last = conversation.deferred.at(-1) ?? conversation.entries.at(-1)
  if (!inTurn && last?.message.role === 'assistant') return { do: 'finish', reason: 'completed' }
  // What was said meanwhile goes first; it also ends the waiting.
  if (inTurn && position.action_id !== null && last?.message.role === 'tool') return { do: 'wait' }
  const seen =
    answer !== null &&
    (last === undefined || last.message.role === 'assistant' || last.event_id < answer.request_id)
  if (seen && !turn.requested && answer.call_ids.length === 0) return afterAnswer(position, answer, limits)
  if (last?.message.role === 'tool' && isLooping(position)) return { do: 'finish', reason: 'tool_loop' }
  // A verdict in the middle of the turn ended it, unless somebody has spoken since.
  if (answer !== null && graded?.response_id === answer.id && (last?.event_id ?? 0) < graded.verdict_id)
    return { do: 'finish', reason: 'budget_exhausted' }
  return request(position, limits, turn.empty_answers > 0 ? ['empty'] : [])
}

/** The last answer had no calls, and nothing came since. */
function afterAnswer(position: Position, answer: NonNullable<Position['answer']>, limits: TurnLimits): Step {
  const { turn } = position
  if (answer.empty) {
    const escalated = turn.escalated_model !== null
    if (turn.empty_answers <= (escalated ? 0 : NUDGES)) return request(position, limits, ['empty'])
    return { do: !escalated && limits.can_escalate ? 'escalate' : 'give_up' }
  }
  if (answer.finish_reason === 'length' && position.cut_answers <= CONTINUATIONS)
    return request(position, limits, ['continue'])
  return { do: 'finish', reason: answer.forced ? 'budget_exhausted' : 'completed' }
}

/** The last call of the budget has no tools: it must answer. */
function request({ turn }: Position, { max_iterations }: TurnLimits, prods: readonly Prod[]): Step {
  const with_tools = turn.next_iteration < max_iterations - 1
  return { do: 'request', with_tools, prods: with_tools ? prods : [...prods, 'last_call'] }
}

/**
 * Between turns: whether something entered the conversation since the last one ended. A failed turn is tried
 * again as it stands. The newest need not stand last: the answer to a question of a stopped turn stands at
 * its call, before what was said meanwhile.
 */
function asksForTurn({ conversation: { entries, deferred }, ended, rolled_back_id }: Position): boolean {
  const isNew = ({ event_id }: { event_id: EventId }): boolean =>
    event_id !== rolled_back_id && (ended === null || ended.by === 'session.fail' || event_id > ended.id)
  return deferred.findLast(isNew) !== undefined || entries.findLast(isNew) !== undefined
}

const askedAt = ({ questions }: Position, callId: string): number =>
  questions.find(question => question.tool_call_id === callId)?.asked_at ?? Number.POSITIVE_INFINITY

export function isLooping({ turn }: Position): boolean {
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
