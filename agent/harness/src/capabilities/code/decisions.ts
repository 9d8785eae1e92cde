/**
 * The permissions of one run while its process lives: judged, answered, or waiting for a person. Decisions
 * are read from the log, wherever they were made.
 */
import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import { findOpenGate } from '@cairn/sessions'
import type { AgentSetup } from '../../governance/agent.ts'
import { createMutex } from '../../mutex.ts'
import type { Claimed } from '../../turn/capability.ts'
import type { SessionLog } from '../../turn/session-log.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import type { Push, PushVerdict } from './git-broker.ts'
import {
  callOf,
  callOfPush,
  judge,
  type Judged,
  type JudgedCall,
  optionOf,
  withPushes,
} from './permissions.ts'

type Decision = 'approve' | 'reject' | null

export type Decisions = {
  ask(request: RequestPermissionRequest): Promise<RequestPermissionResponse>
  /** `gone` aborts when the answer is no longer needed. */
  askPush(push: Push, gone: AbortSignal): Promise<PushVerdict>
  close(): void
}

export type DecisionOptions = {
  runner: RunnerDeps
  claimed: Claimed
  setup: AgentSetup
  run_id: string
  workspace: string
  /** Aborts when the process must end: pending requests are answered `cancelled`. */
  signal: AbortSignal
  /** Called when a decision takes too long and the run should release its place. */
  park: () => void
  onFailure: (thrown: unknown) => void
}

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } }

function responseTo(
  { options }: RequestPermissionRequest,
  answer: 'allow' | Decision,
): RequestPermissionResponse {
  const optionId = optionOf(options, answer === 'allow' ? 'allow_once' : 'reject_once')
  if (answer === null || optionId === null) return CANCELLED
  return { outcome: { outcome: 'selected', optionId } }
}

/** The same call may have been requested before, and its approval already used. */
function latestOf(log: SessionLog, runId: string, id: string): Decision {
  const run = log.position().code.find(({ run_id }) => run_id === runId)
  return run?.gates.findLast(gate => gate.tool_call_id === id)?.decision ?? null
}

/** Notifies waiting calls as soon as the log has a person's decision. */
function waitForDecisions({ runner, claimed, run_id, park, onFailure }: DecisionOptions) {
  const { store, clock, config } = runner
  const { session, log } = claimed
  /** Null: not decided; callers are not notified. */
  const waiting = new Map<string, (decision: Decision) => void>()

  async function poll(): Promise<void> {
    if (waiting.size === 0) return
    await log.catchUp()
    for (const [id, tell] of waiting) tell(latestOf(log, run_id, id))
  }
  const unwatch = store.events.watch(session.id, () => void poll().catch(onFailure))

  async function decisionOn(id: string, signal: AbortSignal): Promise<Decision> {
    const { promise, resolve } = Promise.withResolvers<Decision>()
    const stop = (): void => resolve(null)
    waiting.set(id, decision => decision !== null && resolve(decision))
    const cancel = clock.after(config.code.approval_wait_s * 1000, () => {
      park()
      stop()
    })
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    try {
      // It may have been decided since the request.
      await poll()
      return await promise
    } finally {
      cancel()
      waiting.delete(id)
      signal.removeEventListener('abort', stop)
    }
  }

  return { decisionOn, unwatch }
}

export function createDecisions(options: DecisionOptions): Decisions {
  const { runner, claimed, setup, run_id, workspace, signal, onFailure } = options
  const { store, clock, config, newId, redact } = runner
  const { session, log } = claimed
  const policy = withPushes(setup.agent.governance, config.code.push)
  const { decisionOn, unwatch } = waitForDecisions(options)
  // Checking and asking are atomic: of two identical calls only one asks.
  const inTurn = createMutex()

  const judged = (call: JudgedCall): Promise<Judged> =>
    inTurn(() =>
      judge(
        {
          run_id,
          policy,
          workspace,
          now: clock.now,
          newId,
          redact,
          commit: events => log.append(events),
          findGrant: (tool, hash) => store.grants.find(session.id, tool, hash),
          findGate: (tool, hash) => findOpenGate(store, session, tool, hash),
          wasRejected: id => latestOf(log, run_id, id) === 'reject',
        },
        call,
      ),
    )

  async function answerTo(call: JudgedCall, signal: AbortSignal): Promise<'allow' | Decision> {
    for (;;) {
      const answer = await judged(call)
      if (typeof answer === 'string') return answer
      const decision = await decisionOn(answer.waits, signal)
      // An approval is a grant that the next check consumes, but not for a process that must end. If it was
      // used in the meantime, a person is asked again.
      if (decision !== 'approve') return decision
      if (signal.aborted) return null
    }
  }

  return {
    async ask(request) {
      try {
        return responseTo(request, await answerTo(callOf(request.toolCall), signal))
      } catch (error) {
        // The run cannot continue without its log; answer the agent before ending it.
        onFailure(error)
        return CANCELLED
      }
    },
    async askPush(push, gone) {
      try {
        const answer = await answerTo(callOfPush(push), AbortSignal.any([signal, gone]))
        if (answer === null) return 'cancelled'
        return answer === 'allow' ? 'allow' : 'reject'
      } catch (error) {
        onFailure(error)
        return 'cancelled'
      }
    },
    close: unwatch,
  }
}
