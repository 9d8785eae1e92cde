/** Runs a run in one of the runner's places for coding agents. */
import { asError } from '@cairn/protocol'
import { findLiveRun } from '@cairn/sessions'
import type { CodeRun } from '@cairn/state'
import type { RunnerDeps } from '../../runner-deps.ts'
import { drive, type DriveDeps, type Driven } from './drive.ts'

/**
 * One place per run, because a runner has few. A stop releases the turn at once; the process ends in the
 * background.
 */
export async function inPlace(
  runner: RunnerDeps,
  { claimed, setup }: Pick<DriveDeps, 'claimed' | 'setup'>,
  run: CodeRun,
): Promise<Driven> {
  const { coding } = runner
  if (coding === null) throw new Error('[code] cannot resume a run: no coding agent can run here')
  const { agents, semaphore: slots } = coding
  const leave = await slots.take(claimed.lease.signal)
  if (leave === null) return busy(run)
  const driving = drive({ runner, claimed, setup, agents }, run).finally(leave)
  const whenStopped = async (): Promise<void> => {
    const row = await findLiveRun(runner.store, claimed.session.id)
    if (row?.run_id !== run.run_id)
      await agents.forget({ session_id: claimed.session.id, run_id: run.run_id })
  }
  runner.keepInBackground(
    driving
      .then(() => undefined, whenStopped)
      .catch((error: unknown) =>
        runner.logger('warn', 'failed to clean up a stopped run', { error: asError(error).message }),
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
    error: 'busy: this runner is already running its maximum of coding agents; try again later',
    input_tokens: 0,
    output_tokens: 0,
  },
})
