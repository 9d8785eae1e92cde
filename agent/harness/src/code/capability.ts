/**
 * Coding agents as a row of the capabilities. A run that a command began is brought on before anything else;
 * one that the model called for is the work of its tool. A run that waits for a decision holds no worker: the
 * session goes on without it, and the decision's message takes it up again.
 */
import { CommitRefused } from '@cairn/log'
import { asError } from '@cairn/protocol'
import { codeRunResult, codeRunStarted, derivedId, findLiveRun } from '@cairn/sessions'
import { type CodeRun, isLive, liveRun, waitsForDecision } from '@cairn/state'
import { z } from 'zod'
import type { AgentSetup } from '../agent.ts'
import { commandReply } from '../command-reply.ts'
import { toolResult } from '../tools/events.ts'
import { defineTool } from '../tools/parameters.ts'
import type { Tool, ToolOutcome } from '../tools/tool.ts'
import type { Capability, Claimed } from '../turn/capability.ts'
import type { TurnContext } from '../turn/context.ts'
import type { Position } from '../turn/position.ts'
import type { Worker } from '../worker.ts'
import { repoOf } from './command.ts'
import { drive, type DriveDeps, type Driven, type Result } from './drive.ts'

const CODE_TOOL = 'run_coding_agent'

type Due = { do: 'drive'; run: CodeRun } | { do: 'detach'; run: CodeRun; tool_call_id: string }

export function codeRuns(worker: Worker, claimed: Claimed): Capability<Due> {
  const { coding } = worker
  // A worker of others runs none: its parent would wait for a process that it cannot see.
  const isOffered = coding !== null && coding.agents.names.length > 0 && claimed.link === null
  const { tool } = worker.config.code
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
      const driven = await inPlace(worker, { claimed, setup: turn.setup }, due.run)
      if (driven.how === 'ended') await endCommand(turn, driven)
      return { next: 'look' }
    },
    setUp: setup => Promise.resolve(mayCall && tool === 'ask' ? withApproval(setup) : setup),
    afterTurn: ({ log }) => forgetEnded(worker, claimed.session.id, log.position().code),
    tools: setup => (mayCall ? [codeTool({ worker, claimed, setup, agents: coding.agents })] : []),
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
  // What a person says meanwhile goes first; the call ends, and the run does not.
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
 * What runs kept between their processes goes when their results are on disk, and not before: a worker that
 * dies in between goes on with it. Never rejects.
 */
function forgetEnded(
  { coding, log }: Worker,
  session_id: string,
  runs: readonly CodeRun[],
): Promise<void> | null {
  const ended = coding === null ? [] : runs.filter(run => !isLive(run))
  if (coding === null || ended.length === 0) return null
  return Promise.all(ended.map(({ run_id }) => coding.agents.forget({ session_id, run_id }))).then(
    () => undefined,
    (thrown: unknown) =>
      log('warn', 'what a coding agent kept could not be removed', { error: asError(thrown).message }),
  )
}

/** One run a place: the worker has few. A stop lets go of the turn at once; the process ends behind it. */
async function inPlace(
  worker: Worker,
  { claimed, setup }: Pick<DriveDeps, 'claimed' | 'setup'>,
  run: CodeRun,
): Promise<Driven> {
  const { coding } = worker
  if (coding === null) throw new Error('[code] asked to go on with a run where no agent can run')
  const { agents, slots } = coding
  const leave = await slots.take(claimed.lease.signal)
  if (leave === null) return busy(run)
  const driving = drive({ worker, claimed, setup, agents }, run).finally(leave)
  const whenStopped = async (): Promise<void> => {
    const row = await findLiveRun(worker.store, claimed.session.id)
    if (row?.run_id !== run.run_id)
      await agents.forget({ session_id: claimed.session.id, run_id: run.run_id })
  }
  worker.keepInBackground(
    driving
      .then(() => undefined, whenStopped)
      .catch((thrown: unknown) =>
        worker.log('warn', 'a stopped run was not cleaned up', { error: asError(thrown).message }),
      ),
  )
  return driving
}

const busy = ({ run_id, agent, tool_call_id }: CodeRun): Driven => ({
  how: 'ended',
  before: [],
  rows: [],
  result: {
    run_id,
    agent,
    ...(tool_call_id === null ? {} : { tool_call_id }),
    final_message: null,
    error: 'busy: other runs take all the places of this worker; try again later',
    input_tokens: 0,
    output_tokens: 0,
  },
})

/** The end of a run that no call waits for: what a command began is replied to, in the same commit. */
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
    [failed, said, files].filter(part => part !== '').join('\n\n') || `${agent} is done and said nothing.`
  )
}

const Parameters = z.strictObject({
  prompt: z
    .string()
    .trim()
    .min(1)
    .max(100_000)
    .describe('the task; the agent has not read this conversation'),
  agent: z.string().max(64).optional().describe('absent: the default one'),
  repo: z.string().max(64).optional().describe('a repository to work in; absent: the workspace'),
})

function codeTool(deps: DriveDeps): Tool {
  const { worker, claimed, setup, agents } = deps
  return defineTool({
    name: CODE_TOOL,
    description:
      'Give a coding task to a coding agent that works on it by itself in the workspace, and wait for what ' +
      `it comes to. Agents: ${agents.names.join(', ')}. ` +
      (agents.repos.length === 0 ? '' : `Repositories: ${agents.repos.join(', ')}. `) +
      'Say all it needs to know.',
    parameters: Parameters,
    readOnly: false,
    // The run is known by its call: asked again, it is gone on with and not begun twice.
    idempotent: true,
    timeoutMs: () => Number.POSITIVE_INFINITY,
    async run({ prompt, agent = agents.names[0]!, repo }, { tool_call_id }) {
      if (!agents.names.includes(agent))
        return {
          content: { error: `there is no coding agent ${agent}; there are ${agents.names.join(', ')}` },
        }
      const run = await beginOfCall(deps, { prompt, agent, repo, tool_call_id })
      if ('error' in run) return { content: run }
      const driven = await inPlace(worker, { claimed, setup }, run)
      // Another worker, or this one after a decision, makes the call again.
      return driven.how === 'ended' ? outcomeOf(driven) : { content: '', suspend: 'children' }
    },
  })
}

async function beginOfCall(
  { claimed: { session, log }, setup, agents }: DriveDeps,
  {
    prompt,
    agent,
    repo,
    tool_call_id,
  }: { prompt: string; agent: string; repo: string | undefined; tool_call_id: string },
): Promise<CodeRun | { error: string }> {
  const known = (): CodeRun | undefined => log.position().code.find(run => run.tool_call_id === tool_call_id)
  const begun = known()
  if (begun !== undefined) return begun
  const call = log.position().conversation.open.find(open => open.tool_call_id === tool_call_id)
  const source_event_id = call?.call_event_id ?? null
  if (source_event_id === null) throw new Error(`[${CODE_TOOL}] the call ${tool_call_id} is not in the log`)
  const run_id = derivedId(session.id, source_event_id, 'code')
  const place = repoOf({ agents }, repo, run_id)
  if (typeof place === 'string') return { error: place }
  try {
    await log.append([
      codeRunStarted(session.id, {
        run_id,
        agent,
        provider: agents.modelOf(agent, setup.model),
        prompt,
        source_event_id,
        tool_call_id,
        ...place,
      }),
    ])
  } catch (thrown) {
    if (!(thrown instanceof CommitRefused) || thrown.refusal !== 'code_run_exists') throw thrown
    return { error: 'this session has a run of a coding agent that has not ended: one at a time' }
  }
  const made = known()
  if (made === undefined) throw new Error('[code] a run vanished within its own commit')
  return made
}

function outcomeOf({ result, before, rows }: Extract<Driven, { how: 'ended' }>): ToolOutcome {
  const { run_id, error, final_message, files_changed } = result
  return {
    content: {
      ...(error === null ? {} : { error }),
      run_id,
      final_message,
      ...(files_changed === undefined ? {} : { files_changed }),
    },
    events: [...before, codeRunResult(result)],
    linked: { rows },
  }
}
