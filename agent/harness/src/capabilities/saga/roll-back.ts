/**
 * Undoes the committed steps of a saga that a pause, a stop or a failure interrupted (contract 6, 10), under
 * its own lease. Each undo is on disk as `compensating` before it runs, so a runner that takes over never
 * starts it again. Failures are listed, and the rollback continues.
 */
import { REDACTED } from '@cairn/log'
import { asError, type EventDraft, type GovernanceConfig, clip } from '@cairn/protocol'
import { nextUnwinding, type Saga, type SagaState, type SagaStep } from '@cairn/state'
import type { Clock } from '@cairn/models/clock'
import type { Lease } from '../../turn/lease.ts'
import { parseArguments } from '../../tools/arguments.ts'
import { gate, SPENT } from '../../tools/gate.ts'
import { restoreCheckpoint } from '../../tools/checkpoint.ts'
import { asFailure, runTool } from '../../tools/run-tool.ts'
import type { FindTool, Tool } from '../../tools/tool.ts'
import { workspaceMask } from '../../tools/workspace-mask.ts'
import type { SessionLog } from '../../turn/session-log.ts'
import { sagaCompensate, sagaComplete, stepBegin, stepCommitted, stepFailed } from './events.ts'
import { stepKeys } from './steps.ts'

const ERROR_CHARS = 500
const EXECUTED: readonly SagaStep['state'][] = [
  'committed',
  'compensating',
  'compensated',
  'compensation_failed',
]

export type RollBackDeps = {
  log: SessionLog
  lease: Lease
  clock: Clock
  tools: readonly Tool[]
  findTool: FindTool
  policy: GovernanceConfig
  workspace: string
  checkpoints: string
  timeoutMs: number
  /** Whether the runner is shutting down: another one continues between two steps. */
  draining: () => boolean
}

/** A rollback is pending: nothing else may happen in the session before it is done. */
export const owesRollBack = (saga: SagaState): saga is Saga =>
  saga !== null && saga.status === null && saga.owed !== null

/** The last event of a saga. */
export const completeSaga = (
  { saga_id, steps }: Saga,
  status: 'committed' | 'compensated' | 'escalated',
  clock: Clock,
): EventDraft =>
  sagaComplete({
    saga_id,
    status,
    steps_executed: steps.filter(step => EXECUTED.includes(step.state)).length,
    timestamp: clock.now() / 1000,
  })

/** Ends with the lease released: remaining work is claimed again. */
export async function rollBack(deps: RollBackDeps): Promise<'done' | 'draining'> {
  const { log, clock, lease } = deps
  for (;;) {
    await log.catchUp()
    lease.signal.throwIfAborted()
    const { saga } = log.position()
    // Another runner that took the lease over has finished it.
    if (!owesRollBack(saga)) return 'done'
    if (deps.draining()) return 'draining'
    const cut = saga.steps.filter(step => step.state === 'executing')
    if (cut.length > 0) {
      await log.append(
        cut.map(step =>
          stepFailed({
            ...stepKeys(step, saga.saga_id, clock),
            state: 'failed',
            error: 'outcome unknown: the call was interrupted while it ran',
          }),
        ),
      )
      continue
    }
    const next = nextUnwinding(saga)
    if (next.do === 'report') {
      const { steps_rolled_back, failed_steps } = next
      const failed = failed_steps.length > 0
      const notification = notifyModel(saga)
      await log.append(
        [
          // If no step was started, there was nothing to compensate and no rollback is reported.
          ...(saga.steps.length === 0
            ? []
            : [
                sagaCompensate({
                  saga_id: saga.saga_id,
                  steps_rolled_back: [...steps_rolled_back],
                  reason: saga.owed ?? 'unknown',
                  timestamp: clock.now() / 1000,
                  ...(failed ? { failed_steps: [...failed_steps] } : {}),
                  ...(notification === null ? {} : { told: notification }),
                }),
              ]),
          completeSaga(saga, failed ? 'escalated' : 'compensated', clock),
        ],
        { release_lease: true },
      )
      return 'done'
    }
    if (next.do === 'give_up')
      await log.append([
        undoFailed(deps, saga, next.step, 'outcome unknown: the runner stopped while this undo was running'),
      ])
    else await undo(deps, saga, next.step)
  }
}

const undoFailed = ({ clock }: RollBackDeps, saga: Saga, step: SagaStep, error: string): EventDraft =>
  stepFailed({
    ...stepKeys(step, saga.saga_id, clock),
    state: 'compensation_failed',
    error: clip(error, ERROR_CHARS),
  })

async function undo(deps: RollBackDeps, saga: Saga, step: SagaStep): Promise<void> {
  const { log, clock, lease } = deps
  await log.append([stepBegin({ ...stepKeys(step, saga.saga_id, clock), state: 'compensating' })])
  let result: string
  try {
    result = await compensate(deps, step)
  } catch (error) {
    // Interrupted from outside: the next runner records the effect as unknown.
    lease.signal.throwIfAborted()
    await log.append([
      undoFailed(deps, saga, step, workspaceMask(deps.workspace).mask(asError(error).message)),
    ])
    return
  }
  await log.append([
    stepCommitted({
      ...stepKeys(step, saga.saga_id, clock),
      state: 'compensated',
      result: clip(result, ERROR_CHARS),
    }),
  ])
}

async function compensate(deps: RollBackDeps, step: SagaStep): Promise<string> {
  if (step.checkpoint_hash !== null) {
    const restored = await restoreCheckpoint(deps.checkpoints, deps.workspace, step.checkpoint_hash)
    return `restored ${restored.join(', ')}`
  }
  if (step.compensation_tool === null)
    throw new Error(`${step.tool_name} has no undo: its effect remains until a person reverts it`)
  return runUndo(deps, step, step.compensation_tool)
}

async function runUndo(
  { tools, findTool, policy, workspace, clock, lease, timeoutMs }: RollBackDeps,
  step: SagaStep,
  name: string,
): Promise<string> {
  const tool = tools.find(each => each.name === name) ?? (await findTool(name, lease.signal))
  if (tool === null || 'absence' in tool)
    throw new Error(
      `${name}, which undoes ${step.tool_name}, is not available${tool === null ? '' : `: ${tool.absence}`}`,
    )
  if (step.compensation_args === null)
    throw new Error(`the arguments of ${name} could not be filled when ${step.tool_name} took effect`)
  const text = JSON.stringify(step.compensation_args)
  if (text.includes(REDACTED))
    throw new Error(`the arguments of ${name} contained a secret, which the log does not store`)
  const { mask, unmask } = workspaceMask(workspace)
  const parsed = parseArguments(text, tool, unmask)
  if ('problem' in parsed) throw new Error(`invalid arguments of ${name}: ${parsed.problem}`)
  // The operator's declaration replaces the approval and the agent's list of tools; denied tools stay denied.
  const decision = await gate(
    { policy, agentTools: undefined, workspace, findGrant: () => Promise.resolve(SPENT) },
    tool,
    parsed.args,
    parsed.hash,
  )
  if (!decision.allow) throw new Error(`${name} is blocked: ${decision.reason}`)
  const context = {
    session_id: lease.session_id,
    tool_call_id: step.step_id,
    turn_id: step.step_id,
    workspace,
    egress: policy.egress,
  }
  const { content } = mask(
    await runTool(tool, parsed.args, context, { clock, signal: lease.signal, defaultTimeoutMs: timeoutMs }),
  )
  const failed = asFailure(content)
  if (failed !== null) throw new Error(String(failed['error']))
  return typeof content === 'string' ? content : JSON.stringify(content)
}

const CUT = { paused: 'was paused', stopped: 'was stopped', failed: 'failed' } as const

/**
 * The reminder of a rollback for a resumed session. Without it the model would build on undone work.
 * Steps in the order of their undo, each by its tool and call. Null if nothing had taken effect.
 */
function notifyModel({ steps, owed }: Pick<Saga, 'steps' | 'owed'>): string | null {
  const named = (state: SagaStep['state']): string[] =>
    steps
      .filter(step => step.state === state)
      .map(({ tool_name, tool_call_id }) =>
        tool_call_id === null ? tool_name : `${tool_name} (${tool_call_id})`,
      )
      .toReversed()
  const undone = named('compensated')
  const kept = named('compensation_failed')
  if (undone.length + kept.length === 0) return null
  return [
    `The work ${owed === null ? 'was interrupted' : CUT[owed]} before it was done, and its changes were ` +
      'rolled back. Check the current state before you rely on anything it did.',
    ...(undone.length > 0 ? [`Undone: ${undone.join(', ')}.`] : []),
    ...(kept.length > 0 ? [`Not undone, so the effect may still be there: ${kept.join(', ')}.`] : []),
  ].join('\n')
}
