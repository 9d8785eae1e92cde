/**
 * The permissions of one run while its process lives: judged, answered, and waited for where a person has to
 * decide. A decision is seen in the log, whoever writes it and wherever.
 */
import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import { findOpenGate } from '@cairn/sessions'
import type { AgentSetup } from '../agent.ts'
import { createMutex } from '../mutex.ts'
import type { Claimed } from '../turn/capability.ts'
import type { Worker } from '../worker.ts'
import { judge, type Judged, optionOf } from './permissions.ts'

type Decision = 'approve' | 'reject' | null

export type Decisions = {
  ask(request: RequestPermissionRequest): Promise<RequestPermissionResponse>
  close(): void
}

export type DecisionOptions = {
  worker: Worker
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

export function createDecisions(options: DecisionOptions): Decisions {
  const { worker, claimed, setup, run_id, workspace, signal, park, onFailure } = options
  const { store, clock, config, newId, redact } = worker
  const { session, log } = claimed
  const waiting = new Map<string, (decision: Decision) => void>()
  // Looking and asking are one: of two calls alike, one asks.
  const inTurn = createMutex()

  async function look(): Promise<void> {
    if (waiting.size === 0) return
    await log.catchUp()
    const gates = log.position().code.find(run => run.run_id === run_id)?.gates ?? []
    for (const { tool_call_id, decision } of gates)
      if (decision !== null) waiting.get(tool_call_id)?.(decision)
  }
  const unwatch = store.watch(session.id, () => void look().catch(onFailure))

  async function decisionOn(id: string): Promise<Decision> {
    const { promise, resolve } = Promise.withResolvers<Decision>()
    const stop = (): void => resolve(null)
    waiting.set(id, resolve)
    const cancel = clock.after(config.code.approval_wait_s * 1000, () => {
      park()
      stop()
    })
    signal.addEventListener('abort', stop, { once: true })
    try {
      // It may have been decided since it was asked.
      await look()
      return await promise
    } finally {
      cancel()
      waiting.delete(id)
      signal.removeEventListener('abort', stop)
    }
  }

  const judged = ({ toolCall }: RequestPermissionRequest): Promise<Judged> =>
    inTurn(() =>
      judge(
        {
          run_id,
          policy: setup.agent.governance,
          workspace,
          now: clock.now,
          newId,
          redact,
          commit: events => log.append(events),
          findGrant: (tool, hash) => store.findGrant(session.id, tool, hash),
          findGate: (tool, hash) => findOpenGate(store, session, tool, hash),
        },
        toolCall,
      ),
    )

  async function answerTo(request: RequestPermissionRequest): Promise<Judged | null> {
    const first = await judged(request)
    if (typeof first === 'string') return first
    const decision = await decisionOn(first.waits)
    // An approval is a grant, which the second look consumes.
    return decision === 'approve' ? judged(request) : decision
  }

  return {
    async ask(request) {
      try {
        const answer = await answerTo(request)
        const optionId = optionOf(request.options, answer === 'allow' ? 'allow_once' : 'reject_once')
        if (answer === null || optionId === null) return CANCELLED
        return { outcome: { outcome: 'selected', optionId } }
      } catch (thrown) {
        // The run cannot go on without its log; the agent is told before it is ended.
        onFailure(thrown)
        return CANCELLED
      }
    },
    close: unwatch,
  }
}
