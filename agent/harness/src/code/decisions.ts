/**
 * The permissions of one run while its process lives: judged, answered, and waited for where a person has to
 * decide. A decision is seen in the log, whoever writes it and wherever.
 */
import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import { findOpenGate } from '@cairn/sessions'
import type { AgentSetup } from '../agent.ts'
import { createMutex } from '../mutex.ts'
import type { Claimed } from '../turn/capability.ts'
import type { SessionLog } from '../turn/session-log.ts'
import type { Runner } from '../runner.ts'
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
  /** `gone` aborts when nobody waits for the answer any more. */
  askPush(push: Push, gone: AbortSignal): Promise<PushVerdict>
  close(): void
}

export type DecisionOptions = {
  runner: Runner
  claimed: Claimed
  setup: AgentSetup
  run_id: string
  workspace: string
  /** Aborts when the process is to end: whoever waits is answered `cancelled`. */
  signal: AbortSignal
  /** Nobody has decided for so long that the run gives its place back. */
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

/** The same call may have been asked for before, and that approval spent. */
function latestOf(log: SessionLog, runId: string, id: string): Decision {
  const run = log.position().code.find(({ run_id }) => run_id === runId)
  return run?.gates.findLast(gate => gate.tool_call_id === id)?.decision ?? null
}

/** Whoever waits for a person's decision is told of it as soon as the log has it. */
function waitForDecisions({ runner, claimed, run_id, park, onFailure }: DecisionOptions) {
  const { store, clock, config } = runner
  const { session, log } = claimed
  /** Null tells nothing: nobody has decided. */
  const waiting = new Map<string, (decision: Decision) => void>()

  async function poll(): Promise<void> {
    if (waiting.size === 0) return
    await log.catchUp()
    for (const [id, tell] of waiting) tell(latestOf(log, run_id, id))
  }
  const unwatch = store.watch(session.id, () => void poll().catch(onFailure))

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
      // It may have been decided since it was asked.
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
  // Looking and asking are one: of two calls alike, one asks.
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
          findGrant: (tool, hash) => store.findGrant(session.id, tool, hash),
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
      // An approval is a grant, which the next look consumes; not for a process that is to end. Where it was
      // spent in between, somebody is asked again.
      if (decision !== 'approve') return decision
      if (signal.aborted) return null
    }
  }

  return {
    async ask(request) {
      try {
        return responseTo(request, await answerTo(callOf(request.toolCall), signal))
      } catch (error) {
        // The run cannot go on without its log; the agent is told before it is ended.
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
