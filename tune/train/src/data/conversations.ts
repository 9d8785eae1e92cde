/**
 * Converts conversations in data files to the messages that chat templates take: OpenAI's `role` and
 * `content`, ShareGPT's `from` and `value`, content in parts, calls whose arguments are JSON text.
 */
import { InputError, parseExact, type ChatMessage } from '@cairn-tune/weights'
import { z } from 'zod'

export type Conversation = {
  messages: ChatMessage[]
  tools: unknown[] | undefined
  /** Indices of assistant messages that are excluded from the loss. */
  untrained?: readonly number[]
}

/** Names of roles in other formats. A role in neither column reaches the template unchanged. */
const ROLES: Readonly<Record<string, string>> = {
  human: 'user',
  gpt: 'assistant',
  chatgpt: 'assistant',
  model: 'assistant',
  bot: 'assistant',
  developer: 'system',
  function: 'tool',
  observation: 'tool',
  function_response: 'tool',
  tool_response: 'tool',
}

const part = z.looseObject({ type: z.string(), text: z.string().optional() })
const content = z.union([z.string(), z.array(part)], { error: 'expected a text or a list of parts' })
const toolCall = z.looseObject({ function: z.looseObject({ name: z.string(), arguments: z.unknown() }) })
const openai = z.looseObject({
  role: z.string(),
  content: content.nullish(),
  tool_calls: z.array(toolCall).nullish(),
  /** The key of OpenAI's fine-tuning format: 0 excludes the turn from the loss. */
  weight: z.literal([0, 1], { error: 'weight must be 0 or 1' }).nullish(),
})
const sharegpt = z.looseObject({ from: z.string(), value: z.string() })
const toolList = z.union([z.array(z.unknown()), z.string()]).nullish()

/** Reads a list of messages. Throws InputError or ZodError if it is not a conversation. */
export function readConversation(values: unknown, tools?: unknown): Conversation {
  const list = z
    .array(z.unknown(), { error: 'expected a list of messages' })
    .min(1, 'the list of messages is empty')
    .parse(values)
  const untrained: number[] = []
  const messages = list.map((value, i) => {
    const { weight, ...message } = readMessage(value)
    if (weight === 0) untrained.push(i)
    return message
  })
  return {
    messages,
    tools: readTools(tools),
    ...(untrained.length > 0 ? { untrained } : {}),
  }
}

function readMessage(value: unknown): ChatMessage & { weight?: 0 | 1 } {
  const other = sharegpt.safeParse(value)
  if (other.success) return ofShareGpt(other.data)
  const { role, content: given, tool_calls: calls, weight, ...rest } = openai.parse(value)
  const text = textOf(given)
  if (text === undefined && role !== 'assistant')
    throw new InputError('a message needs content, unless its role is assistant')
  if (text === undefined && !calls?.length && rest['reasoning_content'] === undefined)
    throw new InputError('an assistant message has neither content nor tool calls')
  return {
    ...rest,
    role: ROLES[role] ?? role,
    content: text ?? '',
    ...(typeof weight === 'number' ? { weight } : {}),
    ...(calls?.length ? { tool_calls: calls.map(ofCall) } : {}),
  }
}

/** Text parts are joined as vLLM does it; other parts are not supported by a text model. */
function textOf(given: z.infer<typeof content> | null | undefined): string | undefined {
  if (given === null || given === undefined) return undefined
  const parts = typeof given === 'string' ? [given] : given.map(textOfPart)
  if (parts.some(text => !text.isWellFormed())) throw new InputError('a text contains an unpaired surrogate')
  return parts.join('\n')
}

function textOfPart({ type, text }: z.infer<typeof part>): string {
  if (type === 'text' && text !== undefined) return text
  throw new InputError(`unsupported part of type ${JSON.stringify(type)}: the model reads only text`)
}

/** Templates expect a call's arguments as an object, but the format has them as JSON text. */
const ofCall = (call: z.infer<typeof toolCall>) => ({
  ...call,
  function: { ...call.function, arguments: objectOf(call.function.arguments) },
})

function ofShareGpt({ from, value }: z.infer<typeof sharegpt>): ChatMessage {
  if (!value.isWellFormed()) textOf(value)
  if (from !== 'function_call') return { role: ROLES[from] ?? from, content: value }
  const call = z.looseObject({ name: z.string(), arguments: z.unknown() }).safeParse(objectOf(value))
  if (!call.success) throw new InputError('a function_call is not JSON with a name and arguments')
  return { role: 'assistant', content: '', tool_calls: [{ type: 'function', function: call.data }] }
}

/** A Parquet column, or ShareGPT, may hold all tools as JSON text. */
function readTools(tools: unknown): unknown[] | undefined {
  const given = toolList.parse(tools)
  if (given === '' || given === null || given === undefined) return undefined
  const list = typeof given === 'string' ? z.array(z.unknown()).parse(objectOf(given)) : given
  return list.length > 0 ? list : undefined
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
