/**
 * Puts every tool call together with its result: an assistant message with calls is followed by one result
 * per call, in the order of the calls, and by nothing else in between. Model servers reject anything else.
 */
import { type AssistantMessageData, type ModelMessage } from '../provider.ts'
import type { ServerProfile } from '../servers/profiles.ts'
import { idsFor } from './call-ids.ts'
import { sentArguments } from './json-arguments.ts'
import { acceptedName } from './tool-names.ts'
import type { SentCall, SentMessage } from './sent-message.ts'

/** The result of a call that has none in the log. */
const NO_RESULT = JSON.stringify({ error: 'Tool execution failed: no result of this call was recorded' })
const LONE_RESULT = '[Result of an earlier tool call]'

type OpenCall = { written: string; id: string; result: string | null }

/** `fieldsOf`: what goes back with a message and with each of its calls; null: nothing. */
export type FieldsOf = (
  message: AssistantMessageData,
  index: number,
) => { message: Record<string, unknown>; calls: Record<string, Record<string, unknown>> } | null

export function pairCalls(
  messages: readonly ModelMessage[],
  offered: readonly string[],
  profile: ServerProfile,
  fieldsOf: FieldsOf,
): SentMessage[] {
  const idOf = idsFor(profile)
  const sent: SentMessage[] = []
  let open: OpenCall[] = []
  let deferred: SentMessage[] = []
  const flush = (): void => {
    for (const call of open)
      sent.push({ role: 'tool', tool_call_id: call.id, content: call.result ?? NO_RESULT })
    sent.push(...deferred)
    open = []
    deferred = []
  }
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant') {
      flush()
      const fields = fieldsOf(message, index)
      const calls = (message.tool_calls ?? []).map((call): SentCall => {
        const id = idOf(call.id)
        open.push({ written: call.id, id, result: null })
        const own = fields?.calls[call.id]
        return {
          id,
          type: 'function',
          function: {
            name: acceptedName(call.function.name, offered, profile.tool_name_pattern),
            arguments: argumentsOf(call),
          },
          ...(own ? { fields: own } : {}),
        }
      })
      const { tool_calls: _, ...rest } = message
      sent.push({
        ...rest,
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
        ...(fields ? { fields: fields.message } : {}),
      })
      continue
    }
    if (message.role === 'tool') {
      const call = open.find(one => one.written === message.tool_call_id && one.result === null)
      if (call) {
        call.result = message.content
        if (open.every(one => one.result !== null)) flush()
        continue
      }
    }
    const said: SentMessage =
      message.role === 'tool' ? { role: 'user', content: `${LONE_RESULT}\n${message.content}` } : message
    if (open.length > 0) deferred.push(said)
    else sent.push(said)
  }
  flush()
  return sent
}

const known = new WeakMap<object, string>()

/** Computed once per call: the calls of a conversation stay the same objects from request to request. */
function argumentsOf(call: NonNullable<AssistantMessageData['tool_calls']>[number]): string {
  let text = known.get(call)
  if (text === undefined) {
    text = sentArguments(call.function.arguments)
    known.set(call, text)
  }
  return text
}
