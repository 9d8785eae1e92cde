/**
 * Messages of a thread, made from the same events that a run sends. A client that read the runs holds the
 * same messages; a test compares them with those of AG-UI's own client.
 */
import type { EventId } from '@cairn/protocol'
import type { Said } from '../changes/change.ts'
import { findExchange, readSession } from '../changes/exchange.ts'
import type { CompatDeps } from '../deps.ts'
import { type AgUiEvent, RunWriter, type State, supersededBy, userMessageId } from './events.ts'

export type Message = { id: string; role: string } & Record<string, unknown>

/** What a person sent, images included. */
function userMessage(said: Said): Message {
  const { content, images } = said
  const parts = [
    ...(content === '' ? [] : [{ type: 'text', text: content }]),
    ...images.map(({ data, mime_type }) => ({
      type: 'image',
      source: { type: 'data', value: data, mimeType: mime_type },
    })),
  ]
  return { id: userMessageId(said), role: 'user', content: images.length === 0 ? content : parts }
}

type Reader = (messages: Message[], event: AgUiEvent) => void
const find = (messages: readonly Message[], { messageId }: AgUiEvent): Message | undefined =>
  messages.find(({ id }) => id === messageId)
const findCall = (messages: readonly Message[], { toolCallId }: AgUiEvent) =>
  messages.find(({ toolCalls }) => (toolCalls as ToolCall[] | undefined)?.some(({ id }) => id === toolCallId))
type ToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } }

const begin: Reader = (messages, event) => {
  const role = event.type === 'TEXT_MESSAGE_START' ? String(event['role']) : 'reasoning'
  if (find(messages, event) === undefined)
    messages.push({ id: String(event['messageId']), role, content: '' })
}
const extend: Reader = (messages, event) => {
  const message = find(messages, event)
  if (message !== undefined) message['content'] = `${String(message['content'])}${String(event['delta'])}`
}

const READERS: Record<string, Reader> = {
  TEXT_MESSAGE_START: begin,
  REASONING_MESSAGE_START: begin,
  TEXT_MESSAGE_CONTENT: extend,
  REASONING_MESSAGE_CONTENT: extend,
  TOOL_CALL_START(messages, { toolCallId, toolCallName }) {
    const id = String(toolCallId)
    const call: ToolCall = { id, type: 'function', function: { name: String(toolCallName), arguments: '' } }
    messages.push({ id, role: 'assistant', toolCalls: [call] })
  },
  TOOL_CALL_ARGS(messages, event) {
    const calls = findCall(messages, event)?.['toolCalls'] as ToolCall[] | undefined
    for (const call of calls ?? []) call.function.arguments += String(event['delta'])
  },
  // A result follows its call, whatever was said in between.
  TOOL_CALL_RESULT(messages, event) {
    const { messageId, toolCallId, content } = event
    const result = { id: String(messageId), role: 'tool', toolCallId, content }
    const call = findCall(messages, event)
    messages.splice(call === undefined ? messages.length : messages.indexOf(call) + 1, 0, result)
  },
  CUSTOM(messages, event) {
    const gone = supersededBy(event)
    for (const id of gone ?? [])
      messages.splice(
        messages.findIndex(each => each.id === id),
        1,
      )
  },
}

export const applyEvent = (messages: Message[], event: AgUiEvent): void =>
  READERS[event.type]?.(messages, event)

export type History = { messages: Message[]; state: State; writer: RunWriter }

/** At most as many messages are sent to a client that does not hold them. */
const MAX_MESSAGES = 1000
const SPAN = 4000
const WIDER = 8

/**
 * The messages up to an event and with it: the latest ones, from a message of a person on. The writer
 * continues after the event.
 */
export async function readHistory(
  { store }: Pick<CompatDeps, 'store'>,
  session_id: string,
  last: EventId,
): Promise<History> {
  for (let span = SPAN; ; span *= WIDER) {
    const begun = (await findExchange(store, session_id, Math.max(0, last - span))) ?? 0
    const history = await foldHistory({ store }, session_id, begun, last)
    const { messages } = history
    if (begun > 0 && messages.length < MAX_MESSAGES) continue
    const from = messages.findIndex(({ role }, at) => role === 'user' && messages.length - at <= MAX_MESSAGES)
    return { ...history, messages: messages.slice(Math.max(0, from)) }
  }
}

async function foldHistory(
  { store }: Pick<CompatDeps, 'store'>,
  session_id: string,
  begun: EventId,
  last: EventId,
): Promise<History> {
  const writer = new RunWriter()
  const messages: Message[] = []
  for await (const changed of readSession(store, session_id, { begin: begun, last })) {
    for (const change of changed.changes)
      if (change.kind === 'begun') messages.push(userMessage(change.message))
    for (const event of writer.take(changed)) applyEvent(messages, event)
  }
  writer.begin()
  return { messages, state: writer.state, writer }
}
