/**
 * Converts conversations in data files to the messages that chat templates take: OpenAI's `role` and
 * `content`, ShareGPT's `from` and `value`, content in parts, calls whose arguments are JSON text.
 */
import { InputError, parseExact, withThoughts, type ChatMessage } from '@cairn-tune/weights'
import { z } from 'zod'
import { refuseBytes, refuseMedia, takeTraining, withoutNulls } from './turn-keys.ts'

export type Conversation = {
  messages: ChatMessage[]
  tools: unknown[] | undefined
  /** Indices of assistant messages that are excluded from the loss. */
  untrained?: readonly number[]
}

/** Names of roles in other formats. Other roles reach the template unchanged. */
const ROLES: Readonly<Record<string, string>> = {
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  gpt: 'assistant',
  chatgpt: 'assistant',
  ai: 'assistant',
  model: 'assistant',
  bot: 'assistant',
  system: 'system',
  developer: 'system',
  tool: 'tool',
  function: 'tool',
  observation: 'tool',
  function_response: 'tool',
  tool_response: 'tool',
  function_call: 'assistant',
}

/** A role by its name in any format, in upper or lower case. */
export const roleOf = (name: string): string => {
  const role = name.toLowerCase()
  return Object.hasOwn(ROLES, role) ? (ROLES[role] ?? name) : name
}

const part = z.looseObject({ type: z.string(), text: z.string().nullish() })
const content = z.union([z.string(), z.array(part)], { error: 'expected a text or a list of parts' })
const calledFunction = z.looseObject({ name: z.string(), arguments: z.unknown() })
const toolCall = z.looseObject({ function: calledFunction })
const message = z.looseObject({
  role: z.string(),
  content: content.optional(),
  tool_calls: z.array(toolCall).optional(),
  /** OpenAI's older form of a call. */
  function_call: calledFunction.optional(),
})
const given = z.record(z.string(), z.unknown(), {
  error: 'a message must be an object with role and content',
})
const messageList = z
  .array(z.unknown(), { error: 'expected a list of messages' })
  .min(1, 'the list of messages is empty')
const anyList = z.array(z.unknown())
const toolList = z.union([anyList, z.string()]).nullish()

/**
 * Reads a list of messages with the tools that its row offers. Throws InputError or ZodError if it is not a
 * conversation.
 */
export function readConversation(values: unknown, tools?: unknown, functions?: unknown): Conversation {
  const list = messageList.parse(values)
  const untrained: number[] = []
  const messages = list.map((value, i) => {
    const { message: read, isTrained } = readMessage(value)
    if (isTrained === false) untrained.push(i)
    return read
  })
  return {
    messages,
    tools: readTools(tools, functions),
    ...(untrained.length > 0 ? { untrained } : {}),
  }
}

function readMessage(value: unknown): { message: ChatMessage; isTrained?: boolean } {
  const { from, value: said, ...plain } = withoutNulls(given.parse(value))
  refuseMedia(plain)
  const { rest: keys, training } = takeTraining(plain)
  const parsed = message.parse({
    ...(from === undefined ? {} : { role: from }),
    ...(said === undefined ? {} : { content: said }),
    ...keys,
  })
  const { role: name, content: parts, tool_calls: toolCalls = [], function_call: older, ...others } = parsed
  const role = roleOf(name)
  // A weight of 1 is OpenAI's default for every turn; the other keys ask for the turn to be trained.
  if (training?.isTrained && training.key !== 'weight' && role !== 'assistant')
    throw new InputError(
      `${training.key}: only turns of the assistant are trained, and this one has the role ` +
        JSON.stringify(name),
    )
  const text = textOf(parts)
  const calls = [...toolCalls.map(ofCall), ...callsOf(name, text, older, toolCalls.length)]
  const rest = withThoughts(others)
  refuseBytes([rest, calls], '')
  if (text === undefined && role !== 'assistant')
    throw new InputError('a message needs content, unless its role is assistant')
  if (text === undefined && calls.length === 0 && !('reasoning_content' in rest))
    throw new InputError('an assistant message has neither content nor tool calls')
  return {
    message: {
      ...rest,
      role,
      content: name === 'function_call' ? '' : (text ?? ''),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
    ...(training ? { isTrained: training.isTrained } : {}),
  }
}

/** Text parts are joined as vLLM does it; other parts are not supported by a text model. */
function textOf(parts: z.infer<typeof content> | undefined): string | undefined {
  if (parts === undefined) return undefined
  const texts = typeof parts === 'string' ? [parts] : parts.map(textOfPart)
  if (texts.some(text => !text.isWellFormed())) throw new InputError('a text contains an unpaired surrogate')
  return texts.join('\n')
}

function textOfPart({ type, text }: z.infer<typeof part>): string {
  if (type === 'text' && typeof text === 'string') return text
  throw new InputError(`unsupported part of type ${JSON.stringify(type)}: the model reads only text`)
}

/** Templates expect a call's arguments as an object, but the format has them as JSON text. */
const ofCall = (call: z.infer<typeof toolCall>) => ({
  ...call,
  function: { ...call.function, arguments: objectOf(call.function.arguments) },
})

/** The call in a message of older forms: a turn of ShareGPT's function_call, or OpenAI's key of this name. */
function callsOf(
  name: string,
  text: string | undefined,
  older: z.infer<typeof calledFunction> | undefined,
  others: number,
) {
  if (older && others > 0)
    throw new InputError('a message has both function_call and tool_calls; keep one of them')
  if (older) return [{ type: 'function', ...ofCall({ function: older }) }]
  if (name !== 'function_call') return []
  const call = calledFunction.safeParse(objectOf(text))
  if (!call.success) throw new InputError('a function_call is not JSON with a name and arguments')
  return [{ type: 'function', function: call.data }]
}

/** A Parquet column, or ShareGPT, may hold all tools as JSON text. `functions` is OpenAI's older form. */
function readTools(tools: unknown, functions: unknown): unknown[] | undefined {
  const own = readList(tools)
  const older = readList(functions)
  if (own.length > 0 && older.length > 0)
    throw new InputError('a row has both functions and tools; keep one of them')
  const list = own.length > 0 ? own : older.map(one => ({ type: 'function', function: one }))
  refuseBytes(list, 'tools')
  return list.length > 0 ? list : undefined
}

function readList(value: unknown): unknown[] {
  const list = toolList.parse(value)
  if (list === '' || list === null || list === undefined) return []
  return typeof list === 'string' ? anyList.parse(objectOf(list)) : list
}

/** Parses JSON text. Returns any other value unchanged. */
function objectOf(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return parseExact(value)
  } catch {
    // A model may have written arguments that are not JSON; the template shows them unchanged.
    return value
  }
}
