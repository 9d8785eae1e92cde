/** A conversation as the prompt that the model's own template makes of it. */
import type { ChatMessage, ModelTokenizer } from '@cairn-tune/weights'
import { InputError } from '@cairn-tune/weights'
import { badRequest } from './errors.ts'
import type { ChatRequest, RequestMessage } from './protocol.ts'

export type ChatPrompt = {
  ids: readonly number[]
  /**
   * What the answer begins with without the model's doing: the start of a call that the request insists on.
   */
  prefix: string
  startsInReasoning: boolean
  hasTools: boolean
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
 * Templates write arguments themselves, from the object that they are. What a model wrote that is no JSON is
 * shown as it stands, or one slip would end the conversation.
 */
function parseArguments(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text // not JSON: the text itself
  }
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

/** The start of the call that `tool_choice` insists on. */
function forcedStart({ tool_choice: choice, tools }: ChatRequest): string {
  if (choice === 'required') return '<tool_call>\n'
  if (typeof choice !== 'object' || choice === null) return ''
  const { name } = choice.function
  if (!tools?.some(({ function: { name: known } }) => known === name))
    throw badRequest(`tool_choice names ${JSON.stringify(name)}, which is none of the tools`, 'tool_choice')
  return `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": `
}

export function renderChat(
  tokenizer: Pick<ModelTokenizer, 'chat' | 'encode'>,
  request: ChatRequest,
): ChatPrompt {
  if (!tokenizer.chat) throw badRequest('The model has no chat template; use /v1/completions.')
  const hasTools = (request.tools?.length ?? 0) > 0 && request.tool_choice !== 'none'
  if (!hasTools && request.tool_choice && request.tool_choice !== 'none' && request.tool_choice !== 'auto')
    throw badRequest('tool_choice needs tools', 'tool_choice')
  try {
    const prefix = hasTools ? forcedStart(request) : ''
    const text = tokenizer.chat.render(
      { messages: request.messages.map(toMessage), ...(hasTools ? { tools: request.tools ?? [] } : {}) },
      { addGenerationPrompt: true, variables: request.chat_template_kwargs ?? {} },
    )
    return {
      ids: tokenizer.encode(text + prefix),
      prefix,
      startsInReasoning: prefix === '' && /<think>\s*$/.test(text),
      hasTools,
    }
  } catch (error) {
    if (error instanceof InputError) throw badRequest(error.message, 'messages')
    throw error
  }
}
