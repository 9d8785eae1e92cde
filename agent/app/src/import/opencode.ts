/** Sessions that `opencode export` wrote: one JSON document with the messages and their parts. */
import { callOf, createRecorded, type Recorded, type Reader } from './conversation.ts'
import { contentText, type Json, listOf, type Note, objectOf, textOf } from './values.ts'

/** Parts that repeat what others say, or that only the program itself needs. */
const NOT_READ: ReadonlySet<string> = new Set(['step-start', 'step-finish', 'snapshot', 'patch'])

export function readOpencode(note: Note): Reader {
  const conversations: Recorded[] = []
  return {
    record: value => {
      const { info: given, messages } = objectOf(value)
      const info = objectOf(given)
      const [id, title, version, parent] = ['id', 'title', 'version', 'parentID'].map(key =>
        textOf(info[key]),
      )
      const conversation = createRecorded(
        {
          id: id ?? '',
          ...(title ? { title } : {}),
          ...(version ? { tool_version: version } : {}),
          ...(parent ? { parent } : {}),
        },
        note,
      )
      conversations.push(conversation)
      for (const message of listOf(messages).map(objectOf)) {
        const { role, id: messageId } = objectOf(message['info'])
        const parts = listOf(message['parts']).map(objectOf)
        if (role === 'user') conversation.user(contentText(parts.filter(isRead), note))
        else
          stepsOf(parts).forEach((step, at) =>
            readStep(conversation, step, `${textOf(messageId)} ${at}`, note),
          )
      }
    },
    conversations: () => conversations,
  }
}

const isRead = (part: Json): boolean => !NOT_READ.has(textOf(part['type']))
const isTool = (part: Json): boolean => part['type'] === 'tool'

/** An answer of opencode has several calls of the model, its steps. */
function stepsOf(parts: readonly Json[]): Json[][] {
  const steps: Json[][] = [[]]
  for (const part of parts) {
    if (part['type'] === 'step-start') steps.push([])
    else if (isRead(part)) steps.at(-1)?.push(part)
  }
  return steps
}

/** The calls of a step were made at once, so their results follow all of them. */
function readStep(conversation: Recorded, step: readonly Json[], key: string, note: Note): void {
  const tools = step.filter(isTool)
  conversation.answer(key, {
    text: contentText(
      step.filter(part => !isTool(part)),
      note,
    ),
    calls: tools.map(part =>
      callOf(textOf(part['callID']), textOf(part['tool']), objectOf(part['state'])['input']),
    ),
  })
  for (const part of tools) {
    const { status, output, error } = objectOf(part['state'])
    const id = textOf(part['callID'])
    if (status === 'completed') conversation.result(id, contentText(output, note))
    else if (status === 'error') conversation.result(id, JSON.stringify({ error: textOf(error) }))
  }
}
