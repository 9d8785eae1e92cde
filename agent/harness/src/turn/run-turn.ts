/**
 * The turn as a loop: fold the log, call `nextStep`, do it (contract 7). Returns when the session rests,
 * waits for a person, is over, or must wait for another runner.
 */
import { isOffered } from '../governance/decide.ts'
import type { ToolSchema } from '@cairn/models'
import { toolJsonSchema } from '../tools/parameters.ts'
import { modelEscalated } from '../events.ts'
import type { Turn } from './capability.ts'
import { callModel } from './call-model.ts'
import { describeFailure, fail, finish, giveBack, settle, suspend } from './end-turn.ts'
import { nextStep, type Step, type TurnLimits } from './next-step.ts'
import { summarize, sumUp } from './summaries.ts'
import { close, conclude, runAnswer } from './turn-calls.ts'

/** `true`: decide the next step again. */
type Again = Promise<boolean>

export async function runTurn(turn: Turn): Promise<void> {
  const { log, lease, setup, asking } = turn
  const limits: TurnLimits = {
    max_iterations: setup.max_iterations,
    can_escalate: setup.escalation_model !== null,
  }
  do {
    await log.catchUp()
    lease.signal.throwIfAborted()
  } while (await act(turn, nextStep(log.position(), limits, asking)))
}

async function act(turn: Turn, step: Step): Again {
  // Another runner continues from here; steps that only close the turn are still done.
  if (turn.draining() && isWork(turn, step)) return giveBack(turn)
  switch (step.do) {
    case 'rest':
    case 'wait':
      return suspend(turn)
    case 'run':
      return runAnswer(turn, step.calls)
    case 'leave':
      return close(turn, step.calls, 'turn_ended')
    case 'unask':
      return close(turn, step.calls, 'question_passed_over')
    case 'conclude':
      return conclude(turn, step.calls)
    case 'request':
      return request(turn, step)
    case 'escalate':
      return escalate(turn)
    case 'give_up':
      return failOnEmptyAnswers(turn)
    case 'capability':
      return actFor(turn, step)
    case 'finish':
      return finish(turn, step.reason)
  }
}

const isWork = (turn: Turn, step: Step): boolean =>
  step.do === 'request' ||
  step.do === 'run' ||
  (step.do === 'capability' && capabilityOf(turn, step.name).handsOver === true)

function capabilityOf({ capabilities }: Turn, name: string): Turn['capabilities'][number] {
  const found = capabilities.find(capability => capability.name === name)
  if (found === undefined) throw new Error(`[turn] the table has no capability ${name}`)
  return found
}

async function actFor(turn: Turn, { name, due }: Extract<Step, { do: 'capability' }>): Again {
  const outcome = await capabilityOf(turn, name).act?.(turn, due, summarize(turn))
  switch (outcome?.next) {
    case 'wait':
      return suspend(turn)
    case 'fail':
      return fail(turn, {
        ...describeFailure(outcome.error, turn.limits.llm_retries),
        error: outcome.message,
      })
    case 'end_turn':
      return settle(turn, [...summarize(turn), ...sumUp(turn), ...outcome.events], {
        cursor: outcome.cursor,
      })
    default:
      return true
  }
}

async function request(turn: Turn, { with_tools, reminders }: Extract<Step, { do: 'request' }>): Again {
  const { log, setup, capabilities } = turn
  await turn.prepareTools()
  for (const capability of capabilities) await capability.beforeRequest?.(turn, summarize(turn))
  const { turn: at } = log.position()
  const failure = await callModel(turn, {
    turn_id: at.turn_id ?? turn.newId(),
    iteration_index: at.next_iteration,
    model: at.escalated_model ?? setup.model,
    tools: with_tools ? offeredTools(turn) : [],
    reminders,
    before: summarize(turn),
  })
  const said =
    failure?.category === 'context_overflow' ? 'too_long' : failure?.unexplained === true ? 'no_cause' : null
  if (said !== null)
    for (const capability of capabilities) if (await capability.onOverflow?.(turn, said)) return true
  if (failure) return fail(turn, describeFailure(failure, turn.limits.llm_retries))
  for (const capability of capabilities) capability.onAnswer?.(turn)
  return true
}

function offeredTools({ tools, setup }: Turn): ToolSchema[] {
  const rules = { policy: setup.agent.governance, agentTools: setup.agent.tools }
  return tools()
    .filter(tool => isOffered(tool.name, rules) && tool.isOffered?.() !== false)
    .map(tool => ({ name: tool.name, description: tool.description, parameters: toolJsonSchema(tool) }))
}

async function escalate(turn: Turn): Again {
  const model = turn.setup.escalation_model
  if (model === null) throw new Error('[turn] asked to escalate without an escalation model')
  await turn.log.append([...summarize(turn), modelEscalated({ reason: 'empty_llm_response', model })])
  return true
}

const failOnEmptyAnswers = (turn: Turn): Again =>
  fail(turn, {
    reason: 'empty_llm_response',
    error_category: 'empty_response',
    error: 'The model repeatedly gave an empty answer.',
    retryable: true,
    attempts: turn.log.position().turn.empty_answers,
  })
