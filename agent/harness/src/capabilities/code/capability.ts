/**
 * Coding agents as a row of the capabilities. A run started by a command is advanced before anything else; a
 * run started by the model is the work of its tool call. A run that waits for a decision occupies no runner:
 * the session continues without it, and the message with the decision resumes it.
 */
import { asError } from '@cairn/protocol'
import { codeRunResult } from '@cairn/sessions'
import { type CodeRun, isLive, liveRun, waitsForDecision } from '@cairn/state'
import type { AgentSetup } from '../../governance/agent.ts'
import { commandReply } from '../command-reply.ts'
import { toolResult } from '../../tools/events.ts'
import type { Capability, Claimed } from '../../turn/capability.ts'
import type { TurnContext } from '../../turn/context.ts'
import type { Position } from '../../turn/position.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import { CODE_TOOL, codeTool } from './code-tool.ts'
import type { Driven, Result } from './drive.ts'
import { inPlace } from './in-place.ts'

type Due = { do: 'drive'; run: CodeRun } | { do: 'detach'; run: CodeRun; tool_call_id: string }

export function codeRuns(runner: RunnerDeps, claimed: Claimed): Capability<Due> {
  const { coding } = runner
  // A worker session runs none: its parent would wait for a process that it cannot see.
  const isOffered = coding !== null && coding.agents.names.length > 0 && claimed.link === null
  const { tool } = runner.config.code
  const mayCall = isOffered && tool !== 'off'
  return {
    name: 'code',
    handsOver: true,
    asks: () => ({ first: nextDue }),
    async act(turn, due) {
      if (due.do === 'detach') {
        await turn.log.append([parkedResult(turn, due)])
        return { next: 'look' }
      }
      const driven = await inPlace(runner, { claimed, setup: turn.setup }, due.run)
      if (driven.how === 'ended') await endCommand(turn, driven)
      return { next: 'look' }
    },
    setUp: setup => Promise.resolve(mayCall && tool === 'ask' ? withApproval(setup) : setup),
    afterTurn: ({ log }) => forgetEnded(runner, claimed.session.id, log.position().code),
    tools: setup => (mayCall ? [codeTool({ runner, claimed, setup, agents: coding.agents })] : []),
  }
}

function withApproval(setup: AgentSetup): AgentSetup {
  const { agent } = setup
  const require_approval = [...agent.governance.require_approval, CODE_TOOL]
  return { ...setup, agent: { ...agent, governance: { ...agent.governance, require_approval } } }
}

/** Pure. */
function nextDue({ code, conversation, spoken_id }: Position): Due | null {
  const run = liveRun(code)
  if (run === null) return null
  const call = conversation.open.find(({ tool_call_id }) => tool_call_id === run.tool_call_id)
  if (!waitsForDecision(run)) return call === undefined ? { do: 'drive', run } : null
  // A later message of a person takes priority: the call ends, the run does not.
  const since = Math.max(...run.gates.map(({ asked_id }) => asked_id))
  return call !== undefined && spoken_id > since
    ? { do: 'detach', run, tool_call_id: call.tool_call_id }
    : null
}

function parkedResult({ log }: TurnContext, { run, tool_call_id }: Extract<Due, { do: 'detach' }>) {
  const { answer } = log.position()
  return toolResult({
    tool_call_id,
    name: CODE_TOOL,
    content: JSON.stringify({
      error: 'policy_blocked_overridable',
      status: 'parked',
      run_id: run.run_id,
      tool_call_id,
    }),
    elapsed_ms: 1,
    ...(answer === null ? {} : { turn_id: answer.turn_id, iteration_index: answer.iteration_index }),
  })
}

/**
 * Removes what runs kept between their processes, but only after their results are on disk: a runner that
 * crashes before that resumes the run. Never rejects.
 */
function forgetEnded(
  { coding, logger }: RunnerDeps,
  session_id: string,
  runs: readonly CodeRun[],
): Promise<void> | null {
  const ended = coding === null ? [] : runs.filter(run => !isLive(run))
  if (coding === null || ended.length === 0) return null
  return Promise.all(ended.map(({ run_id }) => coding.agents.forget({ session_id, run_id }))).then(
    () => undefined,
    (error: unknown) =>
      logger('warn', 'failed to remove the files of a coding agent', { error: asError(error).message }),
  )
}

/** Ends a run that no call waits for, with the reply to its command in the same commit. */
async function endCommand(turn: TurnContext, driven: Extract<Driven, { how: 'ended' }>): Promise<void> {
  const { result, before, rows } = driven
  const run = turn.log.position().code.find(({ run_id }) => run_id === result.run_id)
  const reply =
    run === undefined || run.tool_call_id !== null
      ? []
      : [commandReply(turn, run.source_event_id, replyOf(result))]
  await turn.log.append([...before, codeRunResult(result), ...reply], { rows })
}

function replyOf({ agent, final_message, error, files_changed = [] }: Result): string {
  const said = final_message ?? ''
  const failed = error === null ? '' : `${agent} did not finish: ${error}`
  const files = files_changed.length === 0 ? '' : `Files changed: ${files_changed.join(', ')}`
  return (
    [failed, said, files].filter(part => part !== '').join('\n\n') || `${agent} finished without a message.`
  )
}
