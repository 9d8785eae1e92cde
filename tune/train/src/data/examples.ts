/** What a row teaches, by the columns it has. */
import { InputError, type ChatMessage } from '@cairn-tune/weights'
import { z } from 'zod'
import type { DataRecord } from './read-records.ts'

export type Example =
  | { kind: 'chat'; messages: ChatMessage[]; tools: unknown[] | undefined }
  | { kind: 'completion'; prompt: string; completion: string }
  | { kind: 'question'; question: string; answer: string }
  | { kind: 'text'; text: string }

const text = z.string()
const toolCall = z.looseObject({ function: z.looseObject({ name: z.string(), arguments: z.unknown() }) })
const message = z
  .looseObject({
    role: z.string(),
    content: z.union([z.string(), z.array(z.unknown())]).nullish(),
    tool_calls: z.array(toolCall).nullish(),
  })
  .refine(({ role, content }) => role === 'assistant' || (content !== null && content !== undefined), {
    path: ['content'],
    error: 'Invalid input: a message needs content, unless the assistant wrote it',
  })
const chat = z.object({
  messages: z.array(message).min(1),
  tools: z.union([z.array(z.unknown()), z.string()]).nullish(),
})

/** Shapes of rows, the first whose columns are all there is taken. */
const shapes: readonly { columns: readonly string[]; read: (values: Record<string, unknown>) => Example }[] =
  [
    { columns: ['messages'], read: readChat },
    {
      columns: ['prompt', 'completion'],
      read: values => ({ kind: 'completion', ...z.object({ prompt: text, completion: text }).parse(values) }),
    },
    {
      columns: ['question', 'answer'],
      read: values => ({ kind: 'question', ...z.object({ question: text, answer: text }).parse(values) }),
    },
    { columns: ['text'], read: values => ({ kind: 'text', ...z.object({ text }).parse(values) }) },
  ]

/** Reads rows; every row must have the columns of the first one's shape. */
export function readExamples(records: readonly DataRecord[]): Example[] {
  const first = records[0]
  if (!first) return []
  const shape = shapes.find(({ columns }) => columns.every(column => column in first.values))
  const expected = shapes.map(({ columns }) => columns.join(' + ')).join(', or ')
  const refuse = ({ where, values }: DataRecord): never => {
    throw new InputError(
      `${where}: has the columns ${Object.keys(values).join(', ') || '(none)'}; expected ` +
        `${shape ? shape.columns.join(' + ') : expected}`,
    )
  }
  return records.map(record => {
    if (!shape || !shape.columns.every(column => column in record.values)) return refuse(record)
    try {
      return shape.read(record.values)
    } catch (cause) {
      if (cause instanceof z.ZodError)
        throw new InputError(`${record.where}: ${z.prettifyError(cause)}`, { cause })
      throw cause
    }
  })
}

/**
 * Templates expect a call's arguments as an object; the wire has them as JSON text. A Parquet column may hold
 * all tools as JSON text.
 */
function readChat(values: Record<string, unknown>): Example {
  const { messages, tools } = chat.parse(values)
  const list = typeof tools === 'string' ? z.array(z.unknown()).parse(objectOf(tools)) : (tools ?? [])
  return { kind: 'chat', messages: messages.map(readMessage), tools: list.length > 0 ? list : undefined }
}

function readMessage({ tool_calls: calls, ...rest }: z.infer<typeof message>): ChatMessage {
  if (!calls || calls.length === 0) return rest
  return {
    ...rest,
    tool_calls: calls.map(call => ({
      ...call,
      function: { ...call.function, arguments: objectOf(call.function.arguments) },
    })),
  }
}

/** The value that a JSON text stands for; anything else as it is. */
function objectOf(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    // A model may have written arguments that are no JSON; the template shows them as they are.
    return value
  }
}
