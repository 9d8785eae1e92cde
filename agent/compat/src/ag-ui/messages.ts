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

type ToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } }

/** The messages of a thread, which are found by their ids however many there are. */
export class Messages {
  readonly all: Message[] = []
  readonly #byId = new Map<string, Message>()
  readonly #calls = new Map<string, { message: Message; call: ToolCall }>()

  has(id: string): boolean {
    return this.#byId.has(id)
  }

  add(message: Message): void {
    this.all.push(message)
    this.#byId.set(message.id, message)
  }

  extend(id: string, text: string): void {
    const message = this.#byId.get(id)
    if (message !== undefined) message['content'] = `${String(message['content'])}${text}`
  }

  addCall(id: string, name: string): void {
    const call: ToolCall = { id, type: 'function', function: { name, arguments: '' } }
    const message = { id, role: 'assistant', toolCalls: [call] }
    this.add(message)
    this.#calls.set(id, { message, call })
  }

  extendCall(id: string, text: string): void {
    const known = this.#calls.get(id)
    if (known !== undefined) known.call.function.arguments += text
  }

  /** A result follows its call, whatever was said in between. Most calls are among the last messages. */
  addResult(id: string, toolCallId: string, content: unknown): void {
    const result = { id, role: 'tool', toolCallId, content }
    const call = this.#calls.get(toolCallId)
    if (call === undefined) return this.add(result)
    this.all.splice(this.all.lastIndexOf(call.message) + 1, 0, result)
    this.#byId.set(id, result)
  }

  remove(id: string): void {
    const message = this.#byId.get(id)
    if (message === undefined) return
    this.#byId.delete(id)
    this.all.splice(this.all.lastIndexOf(message), 1)
  }

  removeFirst(count: number): void {
    for (const { id } of this.all.splice(0, count)) {
      this.#byId.delete(id)
      this.#calls.delete(id)
    }
  }
}

type Reader = (messages: Messages, event: AgUiEvent) => void
const begin: Reader = (messages, event) => {
  const id = String(event['messageId'])
  const role = event.type === 'TEXT_MESSAGE_START' ? String(event['role']) : 'reasoning'
  if (!messages.has(id)) messages.add({ id, role, content: '' })
}
const extend: Reader = (messages, event) =>
  messages.extend(String(event['messageId']), String(event['delta']))

const READERS: Record<string, Reader> = {
  TEXT_MESSAGE_START: begin,
  REASONING_MESSAGE_START: begin,
  TEXT_MESSAGE_CONTENT: extend,
  REASONING_MESSAGE_CONTENT: extend,
  TOOL_CALL_START: (messages, event) =>
    messages.addCall(String(event['toolCallId']), String(event['toolCallName'])),
  TOOL_CALL_ARGS: (messages, event) =>
    messages.extendCall(String(event['toolCallId']), String(event['delta'])),
  TOOL_CALL_RESULT: (messages, event) =>
    messages.addResult(String(event['messageId']), String(event['toolCallId']), event['content']),
  CUSTOM(messages, event) {
    for (const id of supersededBy(event) ?? []) messages.remove(id)
  },
}

export const applyEvent = (messages: Messages, event: AgUiEvent): void =>
  READERS[event.type]?.(messages, event)

export type History = { messages: Messages; state: State; writer: RunWriter }

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
  const folded = new Map<EventId, History>()
  for (let span = SPAN; ; span *= WIDER) {
    const begun = (await findExchange(store, session_id, Math.max(0, last - span))) ?? 0
    // A long exchange may contain wider spans too: it is folded once.
    const history = folded.get(begun) ?? (await foldHistory({ store }, session_id, begun, last))
    folded.set(begun, history)
    const { messages } = history
    const { all } = messages
    const hasMore = begun > 1
    if (hasMore && all.length < MAX_MESSAGES) continue
    const from = all.findIndex(({ role }, at) => role === 'user' && all.length - at <= MAX_MESSAGES)
    messages.removeFirst(Math.max(0, from))
    return history
  }
}

async function foldHistory(
  { store }: Pick<CompatDeps, 'store'>,
  session_id: string,
  begun: EventId,
  last: EventId,
): Promise<History> {
  const writer = new RunWriter()
  const messages = new Messages()
  for await (const changed of readSession(store, session_id, { begin: begun, last })) {
    for (const change of changed.changes)
      if (change.kind === 'begun') messages.add(userMessage(change.message))
    for (const event of writer.take(changed)) applyEvent(messages, event)
  }
  writer.begin()
  return { messages, state: writer.state, writer }
}
