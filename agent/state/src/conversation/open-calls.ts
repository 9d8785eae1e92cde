/** Tool calls, from the answer that makes them to their result. */
import type { Answer, AssistantMessage, EventId } from '@cairn/protocol'

/** A tool call of the last response that has no result yet. */
export type OpenCall = {
  tool_call_id: string
  name: string
  /** JSON text, as the model wrote it. */
  arguments: string
  /**
   * `asked`: only in the response; `called`: a tool.call is on disk; `waiting`: for the user's answer or for
   * children to end; `answered`: the user answered, and the tool.result is still to be written.
   */
  state: 'asked' | 'called' | 'waiting' | 'answered'
  /** The tool.call event, once it exists. */
  call_event_id: EventId | null
  /** RFC 3339. */
  called_at: string | null
  /** The user's answers; null in all states but `answered`. */
  answered: { event_id: EventId; at: string; responses: readonly Answer[] } | null
}

/** The calls that an answer makes. */
export const callsOf = (message: AssistantMessage): OpenCall[] =>
  (message.tool_calls ?? []).map(call => ({
    tool_call_id: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
    state: 'asked',
    call_event_id: null,
    called_at: null,
    answered: null,
  }))

/** An answered call only lacks its result: no other change applies to it. */
export const changeCall = (
  calls: readonly OpenCall[],
  callId: string,
  change: Partial<OpenCall>,
): readonly OpenCall[] =>
  calls.map(call => (call.tool_call_id === callId && call.answered === null ? { ...call, ...change } : call))

/** A running call may ask again after an answer. */
export const askCall = (calls: readonly OpenCall[], callId: string): readonly OpenCall[] =>
  calls.map(call =>
    call.tool_call_id === callId ? { ...call, state: 'waiting' as const, answered: null } : call,
  )

/** The answers to a question as the model reads them. */
export const answerText = (responses: readonly Answer[]): string => JSON.stringify({ responses })
