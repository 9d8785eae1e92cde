/**
 * Lists of messages as applications store them: OpenAI's chat messages, Anthropic's messages and OpenAI's
 * Responses items, also those that `cairn export --format sft` writes. A record is a list, or an object with
 * `messages`, `input` or `items`.
 */
import { createHash } from 'node:crypto'
import { readAnswer, readAnthropicUser } from './claude-code.ts'
import { createItemReader } from './codex.ts'
import { callOf, createRecorded, type Recorded, type Source, type Reader } from './conversation.ts'
import { contentText, isObject, type Json, listOf, type Note, objectOf, textOf } from './values.ts'

export function messagesOf(record: unknown): readonly Json[] | null {
  const { messages, input, items } = objectOf(record)
  const found = Array.isArray(record) ? record : (messages ?? input ?? items)
  return Array.isArray(found) && found.every(isObject) ? found : null
}

export function readMessages(note: Note): Reader {
  const conversations: Recorded[] = []
  return {
    record: value => {
      const messages = messagesOf(value)
      if (messages === null) return note('record without messages')
      const source = sourceOf(value, messages)
      const conversation = createRecorded(source, note)
      conversations.push(conversation)
      const readItem = createItemReader(note)
      messages.forEach((message, at) => {
        if (at === 0 && isSystem(message)) return
        if (message['type'] !== undefined && message['type'] !== null) readItem(conversation, message)
        else readMessage(conversation, message, `message ${at}`, note)
      })
    },
    conversations: () => conversations,
  }
}

const isSystem = ({ role }: Json): boolean => role === 'system' || role === 'developer'

/** A record without an id is named by its content, so that the same record is the same conversation. */
function sourceOf(record: unknown, messages: readonly Json[]): Source {
  const { id, metadata, system, instructions, title } = objectOf(record)
  const first = messages[0]
  const prompt =
    first !== undefined && isSystem(first) ? first['content'] : (system ?? instructions ?? undefined)
  const text = contentText(prompt, () => {})
  return {
    id:
      textOf(id) ||
      textOf(objectOf(metadata)['session_id']) ||
      createHash('sha256').update(JSON.stringify(record)).digest('hex'),
    ...(text === '' ? {} : { system: text }),
    ...(textOf(title) === '' ? {} : { title: textOf(title) }),
  }
}

function readMessage(conversation: Recorded, message: Json, key: string, note: Note): void {
  const { role, content } = message
  if (role === 'tool' || role === 'function')
    return conversation.result(
      textOf(message['tool_call_id']) || textOf(message['name']),
      contentText(content, note),
    )
  if (role === 'assistant') {
    readAnswer(conversation, { content }, key, note)
    const calls = listOf(message['tool_calls']).map(objectOf)
    return conversation.answer(key, {
      calls: calls.map(call => {
        const { name, arguments: args } = objectOf(call['function'])
        return callOf(textOf(call['id']), textOf(name), args)
      }),
    })
  }
  if (role === 'user') return readAnthropicUser(conversation, content, note)
  conversation.user(`[${textOf(role) || 'no role'}]\n${contentText(content, note)}`)
}
