/** Converts our request to OpenAI's chat completions. */
import { schemaPrompt, isStrictSchema } from './json-answer.ts'
import type { AssistantMessageData, ModelMessage, ModelRequest, ToolSchema } from './provider.ts'
import { schemaText } from './schema-text.ts'

/** What a server does not support, learned from its refusals; see openai.ts. */
export type OpenAIDialect = {
  streamOptions: boolean
  jsonSchema: boolean
  /** OpenAI's newer models require `max_completion_tokens`; other servers know only `max_tokens`. */
  maxTokensKey: 'max_tokens' | 'max_completion_tokens'
}

type Json = Record<string, unknown>

/**
 * The only entry of `reasoning_details` that this protocol writes: the original fields, and their model. They
 * are returned under the same names, and to that model only; another server may reject unknown fields.
 */
export const REASONING_FORMAT = 'openai-compatible'
type KeptReasoning = {
  format: typeof REASONING_FORMAT
  model: string
  reasoning_content?: string
  reasoning?: string
  reasoning_details?: Json[]
}

/** The body of POST /chat/completions, as JSON text. */
export function openAIBody(request: ModelRequest, dialect: OpenAIDialect): string {
  const { tools } = request
  const rest = JSON.stringify(withoutTools(request, dialect))
  if (tools.length === 0) return rest
  return `${rest.slice(0, -1)},"tools":[${tools.map(toolText).join(',')}]}`
}

const toolText = ({ name, description, parameters }: ToolSchema): string =>
  `{"type":"function","function":{"name":${JSON.stringify(name)},"description":` +
  `${JSON.stringify(description)},"parameters":${schemaText(parameters)}}}`

function withoutTools(request: ModelRequest, dialect: OpenAIDialect): Json {
  const { json_schema: wanted } = request
  return {
    model: request.model,
    messages: openAIMessages(request, wanted && !dialect.jsonSchema ? [schemaPrompt(wanted.schema)] : []),
    stream: true,
    ...(dialect.streamOptions ? { stream_options: { include_usage: true } } : {}),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.max_tokens === undefined ? {} : { [dialect.maxTokensKey]: request.max_tokens }),
    ...(wanted && dialect.jsonSchema
      ? {
          response_format: {
            type: 'json_schema',
            json_schema: { name: wanted.name, schema: wanted.schema, strict: isStrictSchema(wanted.schema) },
          },
        }
      : {}),
  }
}

function openAIMessages({ messages, model }: ModelRequest, instructions: readonly string[]): Json[] {
  // Several local models' chat templates accept one system message, at the start, so the leading ones are
  // joined.
  const first = messages.findIndex(message => message.role !== 'system')
  const leading = first === -1 ? messages : messages.slice(0, first)
  const rest = first === -1 ? [] : messages.slice(first)
  const lastUser = rest.findLastIndex(message => message.role === 'user')
  const system = [...leading.map(message => message.content), ...instructions]
    .filter(text => text !== '')
    .join('\n\n')
  return [
    ...(system === '' ? [] : [{ role: 'system', content: system }]),
    ...rest.map((message, index) =>
      message.role === 'assistant'
        ? assistantMessage(message, model, index > lastUser)
        : plainMessage(message),
    ),
  ]
}

function plainMessage(message: Exclude<ModelMessage, AssistantMessageData>): Json {
  if (message.role !== 'user' || !message.images || message.images.length === 0)
    return message.role === 'user' ? { role: 'user', content: message.content } : { ...message }
  const images = message.images.map(({ data, mime_type }) => ({
    type: 'image_url',
    image_url: { url: `data:${mime_type};base64,${data}` },
  }))
  return {
    role: 'user',
    content: [...(message.content === '' ? [] : [{ type: 'text', text: message.content }]), ...images],
  }
}

function assistantMessage(message: AssistantMessageData, model: string, inCurrentTurn: boolean): Json {
  const calls = message.tool_calls ?? []
  return {
    role: 'assistant',
    content: message.content === '' && calls.length > 0 ? null : message.content,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...reasoningToReturn(message, model, inCurrentTurn && calls.length > 0),
  }
}

/**
 * Blocks are always returned; text only between the tool calls of the running turn, where the servers that
 * send it expect it.
 */
function reasoningToReturn(message: AssistantMessageData, model: string, withText: boolean): Json {
  const kept = message.reasoning_details?.find(
    (entry): entry is KeptReasoning => entry['format'] === REASONING_FORMAT && entry['model'] === model,
  )
  if (!kept) return {}
  return {
    ...(kept.reasoning_details ? { reasoning_details: kept.reasoning_details } : {}),
    ...(withText && kept.reasoning_content ? { reasoning_content: kept.reasoning_content } : {}),
    ...(withText && kept.reasoning ? { reasoning: kept.reasoning } : {}),
  }
}
