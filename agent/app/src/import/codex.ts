/**
 * Rollouts of Codex: `~/.codex/sessions/<date>/rollout-….jsonl`. `response_item` records are what the model
 * reads and writes. `event_msg` records repeat them for the screen, so they are not read.
 */
import { callOf, createRecorded, type Recorded, type Reader } from './conversation.ts'
import { contentText, isObject, type Json, type Note, objectOf, textOf } from './values.ts'

const NOT_READ: ReadonlySet<string> = new Set(['event_msg', 'turn_context', 'session_meta'])

export function readCodex(note: Note): Reader {
  let conversation: Recorded | null = null
  const readItem = createItemReader(note)
  return {
    record: value => {
      const record = objectOf(value)
      const type = textOf(record['type'])
      const payload = objectOf(record['payload'])
      if (type === 'session_meta' && conversation === null) {
        const version = textOf(payload['cli_version'])
        const parent = parentOf(payload['source'])
        conversation = createRecorded(
          {
            id: textOf(payload['id']),
            ...(version === '' ? {} : { tool_version: version }),
            ...(parent === '' ? {} : { parent }),
          },
          note,
        )
      } else if (conversation === null) note(`record ${type} before session_meta`)
      else if (type === 'response_item') readItem(conversation, payload)
      else if (type === 'compacted') conversation.user(`[Compacted]\n${textOf(payload['message'])}`)
      else if (!NOT_READ.has(type)) note(`record ${type}`)
    },
    conversations: () => (conversation === null ? [] : [conversation]),
  }
}

const parentOf = (source: unknown): string =>
  textOf(objectOf(objectOf(objectOf(source)['subagent'])['thread_spawn'])['parent_thread_id'])

/**
 * Reads items of OpenAI's Responses. The items of an answer have nothing in common, so an answer ends where
 * something else follows.
 */
export function createItemReader(note: Note): (conversation: Recorded, item: Json) => void {
  let answers = 0
  const key = (): string => `answer ${answers}`
  return (conversation, item) => {
    const type = textOf(item['type']) || (item['role'] === undefined ? '' : 'message')
    const id = textOf(item['call_id']) || textOf(item['id'])
    if (type === 'message' && item['role'] === 'assistant')
      return conversation.answer(key(), { text: contentText(item['content'], note) })
    if (type === 'function_call')
      return conversation.answer(key(), { calls: [callOf(id, textOf(item['name']), item['arguments'])] })
    if (type === 'custom_tool_call') {
      const args = { input: textOf(item['input']) }
      return conversation.answer(key(), { calls: [callOf(id, textOf(item['name']), args)] })
    }
    if (type === 'local_shell_call')
      return conversation.answer(key(), { calls: [callOf(id, 'local_shell', item['action'])] })
    if (type === 'reasoning') return note('reasoning')
    if (type === 'message') {
      answers += 1
      const text = contentText(item['content'], note)
      const role = textOf(item['role'])
      return conversation.user(role === 'user' ? text : `[${role}]\n${text}`)
    }
    if (type.endsWith('_output')) {
      answers += 1
      return conversation.result(id, outputText(item['output'], note))
    }
    // Tools that the model's own server runs: the item has the call and its result.
    if (type.endsWith('_call')) {
      const { type: _, id: __, call_id: ___, output, ...args } = item
      const call = id === '' ? `item ${answers}` : id
      conversation.answer(key(), { calls: [callOf(call, type, args)] })
      answers += 1
      return conversation.result(call, output === undefined ? '' : outputText(output, note))
    }
    note(`item ${type === '' ? 'without a type' : type}`)
  }
}

function outputText(output: unknown, note: Note): string {
  if (isObject(output) && output['content'] !== undefined) return contentText(output['content'], note)
  return isObject(output) ? JSON.stringify(output) : contentText(output, note)
}
