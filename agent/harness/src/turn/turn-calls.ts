/** Runs the calls of a turn in the turn's context. */
import { CommitRefused, REDACTED, type RowChange } from '@cairn/log'
import { findToolName } from '@cairn/models'
import { findApproval, findOpenGate } from '@cairn/sessions'
import { openGates } from '../governance/open-gates.ts'
import { askUserQuestionTool } from '../tools/ask-user-question.ts'
import { type CallSteps, NO_STEPS } from '../tools/call-steps.ts'
import type { CallToolDeps } from '../tools/call.ts'
import { toolResult } from '../tools/events.ts'
import { type CloseReason, closeCalls, runCalls } from '../tools/run-calls.ts'
import { failure } from '../tools/run-tool.ts'
import { askPersonFor } from './ask-person.ts'
import type { Turn } from './capability.ts'
import type { Step } from './next-step.ts'
import type { EventData, EventDraft } from '@cairn/protocol'
import type { OpenCall } from '@cairn/state'
import { fitResult } from '../tools/cut-result.ts'
import { workspaceMask } from '../tools/workspace-mask.ts'

type Again = Promise<boolean>
type Calls = Extract<Step, { do: 'run' }>['calls']

export async function runAnswer(turn: Turn, written: Calls): Again {
  await turn.prepareTools()
  const calls = nameKnownTools(turn, written)
  const deps = { ...callDeps(turn, stepsOf(turn)), ...(await findCalled(turn, calls)) }
  const isLost = (call: Calls[number]): boolean =>
    call.state === 'asked' && !turn.written.has(call.tool_call_id) && call.arguments.includes(REDACTED)
  for (const { tool_call_id, name } of calls.filter(isLost)) {
    const content = JSON.stringify(
      failure(
        'not started: its arguments contained a secret, which is not stored and was lost with the runner ' +
          'that had it; repeat the call',
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

/** A name that means a tool of the turn becomes its name, so that the log records what runs. */
function nameKnownTools({ tools }: Turn, calls: Calls): Calls {
  const known = tools().map(tool => tool.name)
  return calls.map(call => ({ ...call, name: findToolName(call.name, known) ?? call.name }))
}

/**
 * The tools of the turn, and those that it calls although it started without them: a call of an earlier
 * runner must not fail because this process has just started and the tool's MCP server is still connecting.
 */
async function findCalled(
  { tools, findTool, lease }: Turn,
  calls: Calls,
): Promise<Pick<CallToolDeps, 'tools' | 'absences'>> {
  const known = new Map(tools().map(tool => [tool.name, tool]))
  const absences = new Map<string, string>()
  for (const name of new Set(calls.map(call => call.name))) {
    if (known.has(name)) continue
    const found = await findTool(name, lease.signal)
    if (found === null) continue
    if ('absence' in found) absences.set(name, found.absence)
    else known.set(name, found)
  }
  return { tools: known, absences }
}

/** Closes abandoned calls: the turn ended, or the question was skipped. */
export async function close(turn: Turn, calls: Calls, reason: CloseReason): Again {
  const deps = callDeps(turn)
  for (const call of calls) {
    const expired: RowChange = {
      do: 'inbox.expire_call',
      tool_call_id: call.tool_call_id,
      kind: 'input_required',
      decision: reason === 'question_passed_over' ? 'passed_over' : 'stopped',
    }
    const answered = call.state === 'waiting' ? [expired] : []
    try {
      await closeCalls(
        { ...deps, commit: events => turn.log.append(events, { rows: answered }) },
        [call],
        reason,
      )
    } catch (error) {
      // The answer arrived between the decision and the commit; the next fold includes it.
      if (!(error instanceof CommitRefused) || error.refusal !== 'already_answered') throw error
    }
  }
  return true
}

/** Writes the results of questions that were answered. */
export async function conclude({ log, workspace }: Turn, calls: Calls): Again {
  const { answer } = log.position()
  // The turn that asked, unless it was stopped before the answer came.
  const at = answer === null ? {} : { turn_id: answer.turn_id, iteration_index: answer.iteration_index }
  for (const call of calls) await log.append([await answeredResult(workspace, call, at)])
  return true
}

function callDeps(turn: Turn, saga: CallSteps = NO_STEPS): CallToolDeps {
  const { log, lease, setup, store, config } = turn
  const { turn: at, answer } = log.position()
  return {
    session_id: lease.session_id,
    turn_id: answer?.turn_id ?? at.turn_id ?? turn.newId(),
    iteration_index: answer?.iteration_index ?? 0,
    workspace: turn.workspace,
    checkpoints: turn.checkpoints,
    tools: new Map(turn.tools().map(tool => [tool.name, tool])),
    absences: new Map(),
    policy: setup.agent.governance,
    agentTools: setup.agent.tools,
    logAllowed: config.governance.log_allowed,
    saga,
    timeoutMs: turn.limits.tool_timeout_s * 1000,
    signal: lease.signal,
    clock: turn.clock,
    newId: turn.newId,
    commit: (events, linked) => log.append(events, linked),
    findGrant: (tool, hash) => findApproval(store, lease.session_id, tool, hash),
    redact: turn.redact,
    askFor: tool_call_id => askPersonFor(turn, tool_call_id),
    gates: openGates((tool, hash) => findOpenGate(store, log.session(), tool, hash)),
  }
}

/** The first capability that adds events to calls; there is at most one. */
function stepsOf(turn: Turn): CallSteps {
  for (const { callSteps } of turn.capabilities) {
    const steps = callSteps?.(turn) ?? null
    if (steps !== null) return steps
  }
  return NO_STEPS
}

const LOST_WAITING = {
  ...failure(
    'outcome unknown: the runner stopped while this call waited for these answers, so the server did not ' +
      'get them; repeat the call if that is safe',
  ),
  outcome: 'unknown',
}

/**
 * The tool.result of a question that a person answered (contract 7.12). Their answer is a separate event,
 * which may arrive while no runner is active; the runner that resumes the session writes the result before it
 * calls the model again.
 */
async function answeredResult(
  workspace: string,
  { tool_call_id, name, called_at, answered }: OpenCall,
  at: Pick<EventData<'tool.result'>, 'turn_id' | 'iteration_index'>,
): Promise<EventDraft> {
  if (answered === null) throw new Error(`[answeredResult] no answer to ${tool_call_id}`)
  const { responses } = answered
  // Only that tool ends with an answer. Any other needed it to continue, and its runner has stopped.
  const body = name === askUserQuestionTool.name ? { responses } : { ...LOST_WAITING, responses }
  const content = workspaceMask(workspace).mask(body)
  const fitted = await fitResult(workspace, tool_call_id, content)
  // The difference of two dates in the log: the runner that asked is gone, with its clock. 0 would mean that
  // nothing was asked.
  const elapsed_ms = called_at === null ? 1 : Math.max(1, Date.parse(answered.at) - Date.parse(called_at))
  return toolResult({ tool_call_id, name, ...fitted, elapsed_ms, ...at })
}
