/** Converts our request to OpenAI's chat completions. */
import { schemaPrompt, isStrictSchema } from './json-answer.ts'
import type { ModelRequest, ToolSchema } from './provider.ts'
import { requiredCallFields, requiredFields } from './repair/reasoning.ts'
import { repairRequest, type SentRequest } from './repair/repair-request.ts'
import type { SentAssistant, SentMessage } from './repair/sent-message.ts'
import { schemaText } from './schema-text.ts'
import type { ServerProfile } from './servers/profiles.ts'
import { sentFacts, type SentRequestFacts } from './servers/sent-facts.ts'

export { REASONING_FORMAT } from './repair/reasoning.ts'

type Json = Record<string, unknown>

/** The body of POST /chat/completions, as JSON text. */
export function openAIBody(request: ModelRequest, profile: ServerProfile): string {
  const sent = toSend(request, profile)
  const rest = JSON.stringify({
    model: sent.model,
    messages: sent.messages.map(message => wireMessage(message, profile)),
    ...optionalFields(sent, profile),
  })
  if (sent.tools.length === 0) return rest
  return `${rest.slice(0, -1)},"tools":[${sent.tools.map(toolText).join(',')}]}`
}

/** What the body contains, for learning from its refusal. */
export function openAIFacts(request: ModelRequest, profile: ServerProfile): SentRequestFacts {
  const sent = toSend(request, profile)
  return sentFacts(request, sent, optionalFields(sent, profile), profile)
}

const toSend = (request: ModelRequest, profile: ServerProfile): SentRequest =>
  repairRequest(withInstructions(request, profile), profile)

const toolText = ({ name, description, parameters }: ToolSchema): string =>
  `{"type":"function","function":{"name":${JSON.stringify(name)},"description":` +
  `${JSON.stringify(description)},"parameters":${schemaText(parameters)}}}`

/** A server without response_format reads the schema in the system prompt. */
function withInstructions(request: ModelRequest, { omitted_fields }: ServerProfile): ModelRequest {
  const { json_schema: wanted, messages } = request
  if (!wanted || !omitted_fields.includes('response_format')) return request
  const first = messages.findIndex(message => message.role !== 'system')
  const at = first === -1 ? messages.length : first
  const instruction = { role: 'system', content: schemaPrompt(wanted.schema) } as const
  return { ...request, messages: messages.toSpliced(at, 0, instruction) }
}

/** Fields that a server may not know: each is left out once a refusal named it. */
function optionalFields(request: Omit<ModelRequest, 'messages'>, profile: ServerProfile): Json {
  const { json_schema: wanted, temperature, max_tokens } = request
  const { omitted_fields, max_tokens_field, max_tokens_limit } = profile
  const isStream = !omitted_fields.includes('stream')
  const fields: Json = {
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(temperature === undefined ? {} : { temperature }),
    ...(max_tokens === undefined
      ? {}
      : { [max_tokens_field]: Math.min(max_tokens, max_tokens_limit ?? max_tokens) }),
    ...(wanted
      ? {
          response_format: {
            type: 'json_schema',
            json_schema: { name: wanted.name, schema: wanted.schema, strict: isStrictSchema(wanted.schema) },
          },
        }
      : {}),
  }
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !omitted_fields.includes(key)))
}

function wireMessage(message: SentMessage, profile: ServerProfile): Json {
  if (message.role === 'assistant') return assistantMessage(message, profile)
  if (message.role !== 'user' || message.images === undefined)
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

function assistantMessage({ content, tool_calls, fields }: SentAssistant, profile: ServerProfile): Json {
  return {
    role: 'assistant',
    content: content === '' && profile.empty_call_content === 'null' ? null : content,
    ...(tool_calls
      ? {
          tool_calls: tool_calls.map(({ fields: own, ...call }, index) => ({
            ...call,
            ...requiredCallFields(own, index, profile),
          })),
        }
      : {}),
    ...requiredFields(fields, profile),
  }
}
