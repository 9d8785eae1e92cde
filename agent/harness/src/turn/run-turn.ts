/**
 * The turn as a loop: fold the log, ask `nextStep`, do it (contract 7). Returns when the session rests,
 * waits for a human, is over, or must wait for another worker.
 */
import { CommitRefused, type Draft, REDACTED } from '@cairn/log'
import type { EventData, EventDraft } from '@cairn/protocol'
import { completed, failed, findOpenGate } from '@cairn/sessions'
import { isOffered } from '../governance/decide.ts'
import { openGates } from '../governance/open-gates.ts'
import type { ModelError, ToolSchema } from '../llm/provider.ts'
import { listArtifacts, parseCall, recapIteration, recapTurn } from '../recap.ts'
import { type CallSteps, NO_STEPS } from '../tools/call-steps.ts'
import type { CallToolDeps } from '../tools/call-tool.ts'
import { toolResult } from '../tools/events.ts'
import { toolJsonSchema } from '../tools/parameters.ts'
import { closeCalls, runCalls } from '../tools/run-calls.ts'
import { failure } from '../tools/run-tool.ts'
import { workspaceMask } from '../tools/workspace-mask.ts'
import { iterationSummary, modelEscalated, turnSummary } from '../turn-events.ts'
import { callModel } from './call-model.ts'
import type { Ending } from './capability.ts'
import type { TurnContext } from './context.ts'
import { type FinishReason, nextStep, type Step, type TurnLimits } from './next-step.ts'
import type { Append } from './session-log.ts'

/** `true`: ask again what is next. */
type Again = Promise<boolean>

export async function runTurn(turn: TurnContext): Promise<void> {
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

async function act(turn: TurnContext, step: Step): Again {
  // Another worker goes on from here; what only closes the turn is still done.
  if (turn.draining() && isWork(turn, step)) return giveBack(turn)
  switch (step.do) {
    case 'rest':
    case 'wait':
      return suspend(turn)
    case 'run':
      return run(turn, step.calls)
    case 'leave':
      return close(turn, step.calls, 'turn_ended')
    case 'unask':
      return close(turn, step.calls, 'question_passed_over')
    case 'request':
      return request(turn, step)
    case 'escalate':
      return escalate(turn)
    case 'give_up':
      return giveUp(turn)
    case 'capability':
      return actFor(turn, step)
    case 'finish':
      return finish(turn, step.reason)
  }
}

const isWork = (turn: TurnContext, step: Step): boolean =>
  step.do === 'request' ||
  step.do === 'run' ||
  (step.do === 'capability' && capabilityOf(turn, step.name).handsOver === true)

function capabilityOf({ capabilities }: TurnContext, name: string): TurnContext['capabilities'][number] {
  const found = capabilities.find(capability => capability.name === name)
  if (found === undefined) throw new Error(`[turn] the table has no capability ${name}`)
  return found
}

async function actFor(turn: TurnContext, { name, due }: Extract<Step, { do: 'capability' }>): Again {
  const outcome = await capabilityOf(turn, name).act?.(turn, due, summarize(turn))
  switch (outcome?.next) {
    case 'fail':
      return fail(turn, { ...describe(outcome.error, turn.limits.llm_retries), error: outcome.message })
    case 'end_turn':
      return settle(turn, [...summarize(turn), ...sumUp(turn), ...outcome.events], {
        cursor: outcome.cursor,
      })
    default:
      return true
  }
}

async function request(turn: TurnContext, { with_tools, nudges }: Extract<Step, { do: 'request' }>): Again {
  const { log, setup, capabilities } = turn
  for (const capability of capabilities) await capability.beforeRequest?.(turn, summarize(turn))
  const { turn: at } = log.position()
  const failure = await callModel(turn, {
    turn_id: at.turn_id ?? turn.newId(),
    iteration_index: at.next_iteration,
    model: at.escalated_model ?? setup.model,
    tools: with_tools ? offeredTools(turn) : [],
    nudges,
    before: summarize(turn),
  })
  if (failure?.category === 'context_overflow')
    for (const capability of capabilities) if (await capability.onOverflow?.(turn)) return true
  if (failure) return fail(turn, describe(failure, turn.limits.llm_retries))
  for (const capability of capabilities) capability.onAnswer?.(turn)
  return true
}

function offeredTools({ tools, setup }: TurnContext): ToolSchema[] {
  const rules = { policy: setup.agent.governance, agentTools: setup.agent.tools }
  return tools
    .filter(tool => isOffered(tool.name, rules))
    .map(tool => ({ name: tool.name, description: tool.description, parameters: toolJsonSchema(tool) }))
}

type Calls = Extract<Step, { do: 'run' }>['calls']

async function run(turn: TurnContext, calls: Calls): Again {
  const deps = callDeps(turn, stepsOf(turn))
  const isLost = (call: Calls[number]): boolean =>
    call.state === 'asked' && !turn.written.has(call.tool_call_id) && call.arguments.includes(REDACTED)
  for (const { tool_call_id, name } of calls.filter(isLost)) {
    const content = JSON.stringify(
      failure(
        'not started: a secret in its arguments is not kept, and was lost with the worker that had it; make the call again',
      ),
    )
    await deps.commit([
      toolResult({
        tool_call_id,
        name,
        content,
        elapsed_ms: 0,
        turn_id: deps.turn_id,
        iteration_index: deps.iteration_index,
      }),
    ])
  }
  await runCalls(
    deps,
    calls
      .filter(call => !isLost(call))
      .map(call => ({ ...call, arguments: turn.written.get(call.tool_call_id) ?? call.arguments })),
  )
  return true
}

async function close(turn: TurnContext, calls: Calls, reason: 'turn_ended' | 'question_passed_over'): Again {
  const deps = callDeps(turn)
  for (const call of calls) {
    const answered =
      reason === 'question_passed_over'
        ? [
            {
              do: 'inbox.expire_call',
              tool_call_id: call.tool_call_id,
              kind: 'input_required',
              decision: 'passed_over',
            } as const,
          ]
        : []
    try {
      await closeCalls(
        { ...deps, commit: events => turn.log.append(events, { rows: answered }) },
        [call],
        reason,
      )
    } catch (thrown) {
      // The answer came after all, between the look and the commit; the fold has it next time round.
      if (!(thrown instanceof CommitRefused) || thrown.refusal !== 'already_answered') throw thrown
    }
  }
  return true
}

function callDeps(turn: TurnContext, saga: CallSteps = NO_STEPS): CallToolDeps {
  const { log, lease, setup, store, config } = turn
  const { turn: at, answer } = log.position()
  return {
    session_id: lease.session_id,
    turn_id: answer?.turn_id ?? at.turn_id ?? turn.newId(),
    iteration_index: answer?.iteration_index ?? 0,
    workspace: turn.workspace,
    checkpoints: turn.checkpoints,
    tools: new Map(turn.tools.map(tool => [tool.name, tool])),
    policy: setup.agent.governance,
    agentTools: setup.agent.tools,
    logAllowed: config.governance.log_allowed,
    saga,
    timeoutMs: turn.limits.tool_timeout_s * 1000,
    signal: lease.signal,
    clock: turn.clock,
    newId: turn.newId,
    commit: events => log.append(events),
    findGrant: (tool, hash) => store.findGrant(lease.session_id, tool, hash),
    redact: turn.redact,
    gates: openGates((tool, hash) => findOpenGate(store, log.session(), tool, hash)),
  }
}

/** The first capability that writes beside calls; there is at most one. */
function stepsOf(turn: TurnContext): CallSteps {
  for (const { callSteps } of turn.capabilities) {
    const steps = callSteps?.(turn) ?? null
    if (steps !== null) return steps
  }
  return NO_STEPS
}

async function escalate(turn: TurnContext): Again {
  const model = turn.setup.escalation_model
  if (model === null) throw new Error('[turn] asked to escalate without an escalation model')
  await turn.log.append([...summarize(turn), modelEscalated({ reason: 'empty_llm_response', model })])
  return true
}

const giveUp = (turn: TurnContext): Again =>
  fail(turn, {
    reason: 'empty_llm_response',
    error_category: 'empty_response',
    error: 'The model kept answering with nothing.',
    retryable: true,
    attempts: turn.log.position().turn.empty_answers,
  })

function describe({ category, message, retryable }: ModelError, retries: number): EventData<'session.fail'> {
  return {
    reason: retryable ? 'max_retries_exhausted' : 'llm_call_failed',
    error_category: category,
    error: message,
    retryable,
    attempts: retryable ? retries + 1 : 1,
  }
}

const fail = (turn: TurnContext, data: EventData<'session.fail'>): Again =>
  end(turn, [failed({ ...data, error: workspaceMask(turn.workspace).mask(data.error) })])

async function finish(turn: TurnContext, reason: FinishReason): Again {
  const endings: Ending[] = []
  for (const { onEnd } of turn.capabilities) if (onEnd) endings.push(await onEnd(turn, reason))
  const events: Draft[] = [
    ...summarize(turn),
    ...endings.flatMap(ending => ending.before ?? []),
    ...sumUp(turn),
    completed(reason, turn.worker_id),
    ...endings.flatMap(ending => ending.after ?? []),
  ]
  return settle(turn, events, { cursor: 'self', rows: endings.flatMap(ending => ending.rows ?? []) })
}

function sumUp(turn: TurnContext): EventDraft[] {
  const { answer, turn: at } = turn.log.position()
  return at.turn_id === null
    ? []
    : [
        turnSummary({
          turn_id: at.turn_id,
          iteration_index: answer?.iteration_index ?? 0,
          recap: recapTurn(at.calls),
          artifacts: listArtifacts(at),
          iterations: at.next_iteration,
          ...at.usage,
        }),
      ]
}

/**
 * The last commit of a turn: its end, the cursor and the lease in one. A message that came meanwhile undoes
 * it, and the turn goes on.
 */
const end = (turn: TurnContext, events: readonly Draft[]): Again =>
  settle(turn, [...summarize(turn), ...events], { cursor: 'self' })

/**
 * Nothing to do until an event asks for work: the lease goes back with everything seen marked as dealt with.
 */
const suspend = (turn: TurnContext): Again => settle(turn, [], { cursor: turn.log.position().last_id })

async function settle(turn: TurnContext, events: readonly Draft[], append: Append): Again {
  const { log } = turn
  try {
    await log.append(events, { ...append, expect_no_work_after: log.position().last_id, release_lease: true })
    return false
  } catch (thrown) {
    // A check-in that this would have ended was acknowledged in between: look again.
    if (
      thrown instanceof CommitRefused &&
      (thrown.refusal === 'new_work' || thrown.refusal === 'already_answered')
    )
      return true
    throw thrown
  }
}

async function giveBack({ store, lease }: TurnContext): Again {
  await store.release(lease.session_id, lease.fence)
  return false
}

/** The summary of the last iteration, unless it has one; it goes into the commit of whatever comes next. */
function summarize(turn: TurnContext): EventDraft[] {
  const { answer, summarized, turn: at } = turn.log.position()
  if (answer === null || answer.iteration_index <= summarized) return []
  const calls = at.calls.filter(call => answer.call_ids.includes(call.tool_call_id)).map(parseCall)
  return [
    iterationSummary({
      turn_id: answer.turn_id,
      iteration_index: answer.iteration_index,
      summary: recapIteration(calls, answer.empty),
      tool_call_ids: [...answer.call_ids],
      started_at: answer.started_at,
      ended_at: new Date(turn.clock.now()).toISOString(),
    }),
  ]
}
