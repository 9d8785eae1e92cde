/**
 * Transcripts of Claude Code: `~/.claude/projects/<project>/<session>.jsonl`, one record a line. The format
 * is internal to that program, so every kind of record that is not read is counted and reported.
 *
 * An answer has one line for each block, with the same `message.id`. Lines of a subagent have `isSidechain`;
 * older versions write them into the file of the session, newer ones into files of their own. After a rewind
 * the file has several branches; all of them are read, in the order in which they were written.
 */
import { callOf, createRecorded, type Recorded, type Reader } from './conversation.ts'
import { contentText, isObject, type Json, listOf, type Note, objectOf, textOf } from './values.ts'

export function readClaudeCode(note: Note): Reader {
  const conversations = new Map<string, Recorded>()
  let title: string | undefined

  function conversationOf(record: Json): Recorded {
    const session = textOf(record['sessionId'])
    const agent = record['isSidechain'] === true ? textOf(record['agentId']) || 'sidechain' : null
    const id = agent === null ? session : `${session}/${agent}`
    let found = conversations.get(id)
    if (found === undefined) {
      const version = textOf(record['version'])
      found = createRecorded(
        {
          id,
          ...(version === '' ? {} : { tool_version: version }),
          ...(agent === null ? {} : { parent: session }),
        },
        note,
      )
      conversations.set(id, found)
    }
    if (title !== undefined && agent === null) found.source.title = title
    return found
  }

  return {
    record: value => {
      const record = objectOf(value)
      const type = textOf(record['type'])
      if (type === 'summary' || type === 'ai-title' || type === 'custom-title') {
        title = textOf(record['summary'] ?? record['aiTitle'] ?? record['customTitle']) || title
        for (const { source } of conversations.values())
          if (source.parent === undefined && title !== undefined) source.title = title
        return
      }
      const message = record['message']
      if ((type !== 'user' && type !== 'assistant') || !isObject(message)) {
        note(`record ${type === '' ? 'without a type' : type}`)
        return
      }
      const conversation = conversationOf(record)
      if (type === 'user') readUser(conversation, message['content'], note)
      else readAnswer(conversation, message, textOf(record['uuid']), note)
    },
    conversations: () => conversations.values(),
  }
}

function readUser(conversation: Recorded, content: unknown, note: Note): void {
  if (!Array.isArray(content)) return conversation.user(contentText(content, note))
  const parts = content.map(objectOf)
  for (const part of parts)
    if (part['type'] === 'tool_result')
      conversation.result(textOf(part['tool_use_id']), contentText(part['content'], note))
  conversation.user(
    contentText(
      parts.filter(part => part['type'] !== 'tool_result'),
      note,
    ),
  )
}

/** Reads an answer in Anthropic's form. `fallback` names it where it has no id of its own. */
export function readAnswer(conversation: Recorded, message: Json, fallback: string, note: Note): void {
  const { content } = message
  const parts =
    typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).map(objectOf)
  const key = textOf(message['id']) || fallback
  conversation.answer(key, {
    text: contentText(
      parts.filter(part => part['type'] !== 'tool_use'),
      note,
    ),
    calls: parts
      .filter(part => part['type'] === 'tool_use')
      .map(part => callOf(textOf(part['id']), textOf(part['name']), part['input'])),
  })
}

export { readUser as readAnthropicUser }
