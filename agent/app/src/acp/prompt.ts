/**
 * One prompt of a client, from its message to the end of the turn. The log is followed from the client's last
 * position, so a late title or another person's messages are sent first.
 *
 * The turn of Cairn may end while an approval is pending (a gate does not suspend it), and the decision
 * starts another turn: the prompt ends when no turn runs and no decision is pending.
 */
import { type AgentContext, methods, RequestError, type StopReason } from '@agentclientprotocol/sdk'
import { ApiError, type CairnClient } from '@cairn/client'
import { asError, isBesideTurns, type SessionEvent } from '@cairn/protocol'
import { type Answered, askForm, askPermission, questionText } from './asks.ts'
import type { messageOf } from './prompt-text.ts'
import type { Updates } from './updates.ts'

export type Followed = {
  id: string
  updates: Updates
  /** The last event sent to the client. */
  cursor: number
}

export type PromptDeps = {
  service: CairnClient
  client: AgentContext
  hasForms: boolean
  /** Aborts when the client cancels, disconnects, or closes the session. */
  signal: AbortSignal
  /** The message is in the log. */
  onSent: () => void
}

const STOPS: Readonly<Record<string, StopReason>> = {
  budget_exhausted: 'max_turn_requests',
  tool_loop: 'max_turn_requests',
  stopped: 'cancelled',
}

export async function runPrompt(
  deps: PromptDeps,
  session: Followed,
  message: ReturnType<typeof messageOf>,
): Promise<StopReason> {
  const { service, client, signal } = deps
  const sent = await service.call('sendMessage', {
    params: { id: session.id },
    body: message,
    idempotencyKey: crypto.randomUUID(),
  })
  deps.onSent()
  const over = new AbortController()
  const following = AbortSignal.any([signal, over.signal])
  let failure: Error | null = null
  const asks = createAsks(deps, following, thrown => {
    failure = thrown
    over.abort(thrown ?? new Error('the client cancelled'))
  })
  try {
    for await (const batch of service.events(session.id, { after: session.cursor, signal: following })) {
      for (const event of batch) {
        session.cursor = event.id
        for (const update of session.updates.take(event)) {
          // The client already shows its own user's message.
          if (update.sessionUpdate === 'user_message_chunk' && event.id === sent.event_id) continue
          await client.notify(methods.client.session.update, { sessionId: session.id, update })
        }
        const said = asks.take(event)
        if (said !== null) await say(client, session.id, said, event.id)
        const stop = event.id <= sent.event_id ? null : endOf(event, asks.waits(), said !== null)
        if (stop !== null) return stop
      }
    }
  } finally {
    over.abort(new Error('the prompt is over'))
  }
  if (failure !== null) throw asError(failure)
  return 'cancelled'
}

const say = (client: AgentContext, sessionId: string, text: string, event: number): Promise<void> =>
  client.notify(methods.client.session.update, {
    sessionId,
    update: {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text },
      messageId: `ask:${String(event)}`,
    },
  })

/** The stop reason if the prompt ends with this event; null: it continues. */
function endOf(event: SessionEvent, waits: boolean, asksInWords: boolean): StopReason | null {
  switch (event.type) {
    case 'session.complete':
      return waits ? null : (STOPS[event.data.reason] ?? 'end_turn')
    case 'session.stopped':
      return 'cancelled'
    case 'session.pause':
      return 'end_turn'
    case 'session.fail':
      throw RequestError.internalError(
        { error_category: event.data.error_category, retryable: event.data.retryable },
        event.data.error,
      )
    default:
      return asksInWords ? 'end_turn' : null
  }
}

/**
 * Handles questions while the prompt runs. `take`: returns text for a question without a form. `end`: ends
 * the prompt at once, with that error or as cancelled.
 */
function createAsks(
  { service, client, hasForms }: PromptDeps,
  signal: AbortSignal,
  end: (thrown: Error | null) => void,
) {
  /** Calls without a decision in the log, each with the controller that withdraws its request. */
  const open = new Map<string, AbortController>()

  function ask(callId: string, run: (signal: AbortSignal) => Promise<Answered>, session: string): void {
    const control = new AbortController()
    open.set(callId, control)
    void (async () => {
      try {
        if ((await run(AbortSignal.any([signal, control.signal]))) === 'answered') return
        // The client cancels. A resting session writes no further event, so the prompt ends here.
        if (open.delete(callId) && !(await stop(service, session))) end(null)
      } catch (error) {
        // The answer is no longer needed, or another person gave it.
        const isSettled = error instanceof ApiError && error.code === 'already_answered'
        if (!isSettled && !signal.aborted && !control.signal.aborted) end(asError(error))
      }
    })()
  }

  const decided = (callId: string | undefined): void => {
    if (callId === undefined) return
    open.get(callId)?.abort(new Error('it was decided'))
    open.delete(callId)
  }

  return {
    waits: () => open.size > 0,
    take(event: SessionEvent): string | null {
      switch (event.type) {
        case 'inbox.governance_gate':
          if (event.data.repeats_tool_call_id === undefined)
            ask(
              event.data.tool_call_id,
              given => askPermission(service, client, event, given),
              event.session_id,
            )
          return null
        case 'inbox.input_required':
          if (!hasForms) return questionText(event.data)
          ask(event.data.tool_call_id, given => askForm(service, client, event, given), event.session_id)
          return null
        case 'inbox.action_required':
          return event.data.proposal === undefined && !isBesideTurns(event.data.action_type)
            ? `${event.data.title}\n${event.data.instructions}`
            : null
        case 'user.message':
          if (event.data.synthetic === 'governance_decision') decided(event.data.tool_call_id)
          return null
        case 'ask_user_question.response':
          decided(event.data.tool_call_id)
          return null
        default:
          return null
      }
    },
  }
}

/** Whether there was something to stop; a resting session has nothing. */
export async function stop(service: CairnClient, id: string): Promise<boolean> {
  try {
    await service.call('stopSession', { params: { id } })
    return true
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error
    return false
  }
}
