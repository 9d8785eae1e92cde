/**
 * Advances a run as far as possible: to its end, or until a person has to decide. Its state follows from its
 * row and the log alone, so a runner that takes over continues where the crashed one stopped:
 *
 *   the agent has no session yet   the prompt was never sent: the run starts again
 *   parked                         resumes the agent's session with the decisions
 *   running                        its runner crashed: resumes with a note about it, at most a few times
 *
 * A stop or a pause ends a run from outside: it takes the lease and writes all events in its own commit; here
 * only the process is ended.
 */
import type { CodeRun as Row, EventWithRows, RowChange } from '@cairn/log'
import { asError, type EventData } from '@cairn/protocol'
import { closeGates, codeRunProgress, findLiveRun, codeChannelUpdate } from '@cairn/sessions'
import type { CodeRun } from '@cairn/state'
import type { AgentSetup } from '../../governance/agent.ts'
import type { Claimed } from '../../turn/capability.ts'
import { workspaceMask } from '../../tools/workspace-mask.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import type { AgentStart, CodingAgents, StartedAgent, Used } from './agent-process.ts'
import type { Ended } from './attempt.ts'
import { createDecisions } from './decisions.ts'
import { judgesCode } from './permissions.ts'
import { createProgress, type ProgressChunk } from './progress.ts'
import { followChanges, type RunChanges } from './run-changes.ts'
import { type Clock, every } from '@cairn/models/clock'

export type DriveDeps = { runner: RunnerDeps; claimed: Claimed; setup: AgentSetup; agents: CodingAgents }

export type Result = EventData<'code.run_result'>
/** `ended`: the caller writes the result, with everything else in the same commit. */
export type Driven =
  | { how: 'ended'; result: Result; before: readonly EventWithRows[]; rows: readonly RowChange[] }
  | { how: 'parked' }
  /** Another runner continues. */
  | { how: 'draining' }

const MAX_ATTEMPTS = 2
const UNKNOWN = 'The run was interrupted and its outcome is unknown.'
/** Tools of the built-in agent with side effects. */
const ASKING_TOOLS = ['write_file', 'edit_file', 'terminal']

/** The reason for ending a process although the run was not stopped. */
class Parking extends Error {
  override readonly name = 'Parking'
}

export async function drive(deps: DriveDeps, run: CodeRun): Promise<Driven> {
  const { runner, claimed } = deps
  const { run_id } = run
  const row = await findLiveRun(runner.store, claimed.session.id)
  if (row === null || row.run_id !== run_id)
    throw new Error(`[code] the log has the run ${run_id} without a result, and the store does not`)
  const isInterrupted = row.acp_session_id !== null && row.state === 'running'
  const attempts = row.attempts + (isInterrupted ? 1 : 0)
  if (attempts > MAX_ATTEMPTS) return endRun(deps, run, row, { error: UNKNOWN })
  if (isInterrupted || row.state === 'parked')
    await claimed.log.append([], { rows: [{ do: 'code.move', run_id, state: 'running', attempts }] })
  return follow(deps, run, row)
}

async function startAgent(
  { claimed, setup, agents }: DriveDeps,
  run: CodeRun,
  given: Pick<AgentStart, 'workspace' | 'signal' | 'onReady' | 'onPush'>,
): Promise<StartedAgent> {
  try {
    return await agents.start({
      ...given,
      run_id: run.run_id,
      session_id: claimed.session.id,
      agent: run.agent,
      model: run.provider,
      repo: run.repo,
      ask: judgesCode(setup.agent.governance) ? ASKING_TOOLS : [],
      egress: setup.agent.governance.egress,
    })
  } catch (error) {
    const why = `The agent ${run.agent} could not be started: ${asError(error).message}`
    throw new Error(why, { cause: error })
  }
}

async function follow(deps: DriveDeps, run: CodeRun, row: Row): Promise<Driven> {
  const { runner, claimed, setup } = deps
  const { clock, config, shutdown } = runner
  const { lease, log } = claimed
  const { run_id } = run
  const control = new AbortController()
  const signal = AbortSignal.any([lease.signal, shutdown, control.signal])
  const fail = (thrown: unknown): void => control.abort(asError(thrown))
  const folders = await claimed.makeFolders()
  const { workspace } = folders
  const { mask } = workspaceMask(workspace)
  let started: StartedAgent | null = null
  const used = (): Used | null => started?.used() ?? null
  const write = createWriter(run, row, used, mask)
  const progress = createProgress({
    clock,
    streamRedactor: runner.streamRedactor,
    write: async pieces => void (await log.append(write(pieces))),
    onFailure: fail,
  })
  const cancelLimit = clock.after(config.code.minutes * 60_000, () =>
    fail(new Error(`The run took longer than ${config.code.minutes} min and was stopped.`)),
  )
  const silence = notifyChannel(claimed, clock, run, progress.lastTool, fail)
  const decisions = createDecisions({
    runner,
    claimed,
    setup,
    run_id,
    workspace,
    signal,
    park: () => control.abort(new Parking('no decision yet')),
    onFailure: fail,
  })
  const said = async () => ({
    before: write(await progress.finish()),
    message: mask(progress.finalMessage()),
    used: used(),
  })
  const isBegun = row.acp_session_id !== null
  const { onReady, found } = followChanges({ folders, run_id, isBegun, logger: runner.logger })
  try {
    const { runAttempt } = await import('./attempt.ts')
    started = await startAgent(deps, run, { workspace, signal, onReady, onPush: decisions.askPush })
    const end = await runAttempt({
      clock,
      process: started,
      cwd: started.cwd,
      resume: row.acp_session_id,
      prompt: promptOf(run, row),
      signal,
      async onSession(acp_session_id) {
        await log.append([], { rows: [{ do: 'code.move', run_id, acp_session_id }] })
      },
      onPrompted() {
        if (isBegun) progress.note('resumed')
      },
      onUpdate: progress.take,
      onPermission: decisions.ask,
    })
    return await endRun(deps, run, row, { end, changed: await found(), ...(await said()) })
  } catch (thrown) {
    lease.signal.throwIfAborted()
    const why: unknown = control.signal.reason
    if (shutdown.aborted || why instanceof Parking) {
      const { before } = await said()
      await log.append(before, { rows: [{ do: 'code.move', run_id, state: 'parked' }] })
      return { how: why instanceof Parking ? 'parked' : 'draining' }
    }
    const error = asError(why ?? thrown).message
    return await endRun(deps, run, row, { error, changed: await found(), ...(await said()) })
  } finally {
    cancelLimit()
    silence()
    decisions.close()
  }
}

/** Each piece carries the token count so far, which a stop would report. */
function createWriter(
  run: CodeRun,
  row: Row,
  used: () => Used | null,
  mask: (text: string) => string,
): (pieces: readonly ProgressChunk[]) => EventWithRows[] {
  let seq = run.next_seq
  const { run_id, agent } = run
  return pieces =>
    pieces.map(({ kind, chunk }) =>
      codeRunProgress({ run_id, agent, chunk: mask(chunk), kind, seq: seq++ }, sumOf(row, used())),
    )
}

const sumOf = (row: Row, used: Used | null) => ({
  input_tokens: row.input_tokens + (used?.input_tokens ?? 0),
  output_tokens: row.output_tokens + (used?.output_tokens ?? 0),
})

function errorOf(end: Ended): string | null {
  switch (end.how) {
    case 'answered':
      return end.response.stopReason === 'end_turn' ? null : end.response.stopReason
    case 'lost':
      return UNKNOWN
    case 'failed':
      return end.error
  }
}

type Ending = {
  end?: Ended
  error?: string
  changed?: RunChanges
  before?: EventWithRows[]
  message?: string
  used?: Used | null
}

async function endRun(
  { runner, claimed }: DriveDeps,
  run: CodeRun,
  row: Row,
  { end, error, changed = {}, before = [], message = '', used = null }: Ending,
): Promise<Driven> {
  const { run_id, agent, tool_call_id } = run
  return {
    how: 'ended',
    before,
    rows: await closeGates(runner.store, claimed.session, run_id, 'ended'),
    result: {
      run_id,
      agent,
      ...(tool_call_id === null ? {} : { tool_call_id }),
      final_message: message.trim() === '' ? null : message.trim(),
      error: error ?? (end === undefined ? UNKNOWN : errorOf(end)),
      ...sumOf(row, used),
      ...(end?.how === 'answered' ? { stop_reason: end.response.stopReason } : {}),
      ...usageOf(used),
      ...changed,
      duration_seconds: Math.max(0, (runner.clock.now() - Date.parse(run.started_at)) / 1000),
    },
  }
}

function usageOf(used: Used | null): Partial<Result> {
  if (used === null) return { usage_unknown: true }
  const { cache_read_tokens, cost_usd, model } = used
  return { cache_read_tokens, ...(cost_usd === null ? { cost_unpriced_model: model } : { cost_usd }) }
}

/** The task, or what happened to the run since the agent's last prompt. */
function promptOf(run: CodeRun, row: Row): string {
  if (row.acp_session_id === null) return run.prompt
  const decided = run.gates.flatMap(({ decision, tool_name, tool_call_id }) => {
    if (decision === null) return []
    const call = `${tool_name} (${tool_call_id.slice(run.run_id.length + 1)})`
    return decision === 'approve'
      ? `That call was approved: ${call}. Repeat it.`
      : `That call was rejected: ${call}. Continue without it.`
  })
  if (decided.length > 0) return decided.join('\n')
  const why = row.state === 'parked' ? 'You were paused.' : 'You were interrupted.'
  return `${why} Check what is already done, then continue. The task was:\n\n${run.prompt}`
}

const CHANNEL_EVERY_MS = 60_000
/** These clients show the progress themselves. */
const OWN_CHANNELS: readonly string[] = ['web', 'api', 'cli', 'acp']

/** Records once a minute that the run is still working; the channel decides how often it sends that. */
function notifyChannel(
  { session, log }: Claimed,
  clock: Clock,
  { run_id, agent, started_at }: CodeRun,
  lastTool: () => string | null,
  onFailure: (thrown: unknown) => void,
): () => void {
  if (OWN_CHANNELS.includes(session.channel)) return () => undefined
  return every(clock, CHANNEL_EVERY_MS, async () => {
    const tool = lastTool()
    const text = `Still working${tool === null ? '' : `: ${tool}`}`
    const minutes = Math.max(1, Math.round((clock.now() - Date.parse(started_at)) / CHANNEL_EVERY_MS))
    await log.append([codeChannelUpdate({ run_id, agent, text, minutes })]).catch(onFailure)
  })
}
