/** Renders a conversation with the model's own template. */
import type { ChatMessage } from '@cairn-tune/weights'
import { InputError, parseExact, withThoughts } from '@cairn-tune/weights'
import { badRequest } from './errors.ts'
import { toHarmony } from './harmony/conversation.ts'
import { FINAL, callStart, openedIn } from './harmony/markers.ts'
import type { ChatRequest, RequestMessage } from './protocol.ts'
import type { ServedModel } from './served-model.ts'

export type ChatPrompt = {
  ids: readonly number[]
  /** The answer's start that the prompt already contains: the start of a forced call. */
  prefix: string
  startsInReasoning: boolean
  /** Whether the answer continues an existing text. */
  isContinued: boolean
  hasTools: boolean
  /** Whether the prefix starts a call that the request forces. */
  isForced: boolean
  /** Harmony format only: the part of the answer's first message that the prompt already contains. */
  harmony: { opened: string } | undefined
}

function textOf(content: RequestMessage['content']): string | null {
  if (content === null || content === undefined || typeof content === 'string') return content ?? null
  const stranger = content.find(({ type, text }) => type !== 'text' || text === undefined)
  if (stranger)
    throw badRequest(
      `Content of type ${JSON.stringify(stranger.type)} is not supported; this model reads text.`,
      'messages',
    )
  return content.map(({ text }) => text).join('\n')
}

/**
 * Templates serialise arguments themselves, so they need an object. Model output that is not JSON is shown
 * unchanged, so that one mistake does not end the conversation.
 */
function parseArguments(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return parseExact(text)
  } catch {
    return text // not JSON: the text itself
  }
}

/** Arguments are parsed without yielding, and consist of numbers more often than of text. */
const MAX_ARGUMENTS = 262_144

function checkArguments(messages: readonly RequestMessage[]): void {
  let characters = 0
  for (const { tool_calls: calls } of messages)
    for (const call of calls ?? []) characters += call.function.arguments.length
  if (characters > MAX_ARGUMENTS)
    throw badRequest(
      `Arguments of earlier calls have ${characters} characters; the maximum is ${MAX_ARGUMENTS}.`,
      'messages',
    )
}

const toMessage = ({ content, tool_calls: calls, ...rest }: RequestMessage): ChatMessage => ({
  ...rest,
  content: textOf(content) ?? '',
  ...(calls && calls.length > 0
    ? {
        tool_calls: calls.map(call => ({
          ...call,
          type: 'function',
          function: { ...call.function, arguments: parseArguments(call.function.arguments) },
        })),
      }
    : {}),
})

/** The start of the call that `tool_choice` forces. */
function forcedStart({ tool_choice: choice, tools }: PromptRequest, isHarmony: boolean): string {
  const names = (tools ?? []).map(({ function: { name } }) => name)
  const isNamed = typeof choice === 'object' && choice !== null
  if (!isNamed && choice !== 'required') return ''
  const name = isNamed ? choice.function.name : names[0]
  if (name === undefined || !names.includes(name))
    throw badRequest(`tool_choice names ${JSON.stringify(name)}, which is not in tools`, 'tool_choice')
  if (isHarmony) {
    if (!isNamed && names.length > 1)
      throw badRequest(
        'tool_choice "required" with several tools is not supported for models with the harmony ' +
          'format, whose message headers name the tool; name one tool with tool_choice',
        'tool_choice',
      )
    return callStart(name)
  }
  return isNamed ? `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ` : '<tool_call>\n'
}

/** Prefix of an answer for which the request sets a form or a call. */
function prefixOf(
  request: PromptRequest,
  {
    hasTools,
    isHarmony,
    continuesMessage,
  }: { hasTools: boolean; isHarmony: boolean; continuesMessage: boolean },
): { prefix: string; isForced: boolean } {
  const forced = hasTools ? forcedStart(request, isHarmony) : ''
  if (continuesMessage && forced !== '')
    throw badRequest('tool_choice begins a call, which cannot continue the last message', 'tool_choice')
  if (forced !== '') return { prefix: forced, isForced: true }
  const { response_format: format, structured_outputs: asked } = request
  const hasForm = (format && format.type !== 'text') || (asked !== null && asked !== undefined)
  return { prefix: isHarmony && hasForm && !continuesMessage ? FINAL : '', isForced: false }
}

/**
 * Whether the next token belongs to a thought: a thought was just opened, or the continued message has not
 * closed it.
 */
const isInThought = (text: string, continuesMessage: boolean): boolean =>
  continuesMessage ? text.lastIndexOf('<think>') > text.lastIndexOf('</think>') : /<think>\s*$/.test(text)

/** Keys of a request that determine its prompt. */
export type PromptRequest = Pick<
  ChatRequest,
  | 'messages'
  | 'tools'
  | 'tool_choice'
  | 'chat_template_kwargs'
  | 'add_generation_prompt'
  | 'continue_final_message'
  | 'add_special_tokens'
  | 'response_format'
  | 'structured_outputs'
>

/** Whether the last message is continued, instead of a new answer. Throws if the request asks for both. */
function isContinued({ continue_final_message: continuesMessage, ...request }: PromptRequest): boolean {
  if (!continuesMessage) return false
  // The default is a new answer, so the request must disable it.
  if (request.add_generation_prompt !== false)
    throw badRequest(
      'Cannot set both `continue_final_message` and `add_generation_prompt` to True; ' +
        'send add_generation_prompt: false with it.',
      'continue_final_message',
    )
  if (request.messages.at(-1)?.tool_calls?.length)
    throw badRequest('a message with tool calls cannot be continued', 'continue_final_message')
  return true
}

/** Throws, before rendering, for messages whose texts alone imply too many tokens. */
function checkMessages(
  messages: readonly RequestMessage[],
  limits: Pick<ServedModel, 'maxPromptBytes'>,
): void {
  let bytes = 0
  for (const { content } of messages)
    bytes +=
      typeof content === 'string'
        ? Buffer.byteLength(content)
        : (content ?? []).reduce((sum, { text = '' }) => sum + Buffer.byteLength(text), 0)
  checkByteCount(bytes, limits, 'messages')
}

/** Throws, before tokenising, for a text whose length alone implies too many tokens. */
export function checkBytes(
  text: string,
  { maxPromptBytes }: Pick<ServedModel, 'maxPromptBytes'>,
  param: string,
): void {
  checkByteCount(Buffer.byteLength(text), { maxPromptBytes }, param)
}

function checkByteCount(
  bytes: number,
  { maxPromptBytes }: Pick<ServedModel, 'maxPromptBytes'>,
  param: string,
): void {
  if (bytes > maxPromptBytes)
    throw badRequest(
      `The prompt has ${bytes} bytes; the maximum is ${maxPromptBytes}, as more cannot fit into the ` +
        'maximum context length of this model. Please reduce the length of the prompt.',
      param,
    )
}

export async function renderChat(
  { texts, ...limits }: Pick<ServedModel, 'texts' | 'maxPromptBytes'>,
  request: PromptRequest,
  isHarmony = false,
): Promise<ChatPrompt> {
  if (!texts.hasTemplate) throw badRequest('The model has no chat template; use /v1/completions.')
  const hasTools = (request.tools?.length ?? 0) > 0 && request.tool_choice !== 'none'
  if (!hasTools && request.tool_choice && request.tool_choice !== 'none' && request.tool_choice !== 'auto')
    throw badRequest('tool_choice needs tools', 'tool_choice')
  checkArguments(request.messages)
  checkMessages(request.messages, limits)
  try {
    const continuesMessage = isContinued(request)
    const { prefix, isForced } = prefixOf(request, { hasTools, isHarmony, continuesMessage })
    const thoughtful = request.messages.map(withThoughts)
    const messages = isHarmony ? toHarmony(thoughtful) : thoughtful
    const text = await texts.render(
      { messages: messages.map(toMessage), ...(hasTools ? { tools: request.tools ?? [] } : {}) },
      {
        addGenerationPrompt: !continuesMessage && request.add_generation_prompt !== false,
        continueFinalMessage: continuesMessage,
        variables: request.chat_template_kwargs ?? {},
      },
    )
    checkBytes(text, limits, 'messages')
    return {
      ids: await texts.encode(text + prefix, { isDocument: request.add_special_tokens ?? false }),
      prefix,
      startsInReasoning: !isHarmony && prefix === '' && isInThought(text, continuesMessage),
      isContinued: continuesMessage,
      hasTools,
      isForced,
      harmony: isHarmony ? { opened: openedIn(text) } : undefined,
    }
  } catch (error) {
    if (error instanceof InputError) throw badRequest(error.message, 'messages')
    throw error
  }
}
