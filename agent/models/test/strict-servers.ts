/**
 * Model servers reduced to what they refuse, in their own words. Written from public documentation and
 * reports, without the code that composes requests.
 */
import {
  type Check,
  type Json,
  MESSAGE_FIELDS,
  type Rejection,
  allReasoning,
  alternating,
  count,
  descriptions,
  eachCall,
  fewImages,
  ids,
  imagesOf,
  keyword,
  mistralOrder,
  names,
  noField,
  noImages,
  noSystem,
  onlyFields,
  openai,
  schemas,
  signed,
  textContent,
  wellFormed,
} from './server-checks.ts'

export type StrictServer = {
  checks: readonly Check[]
  /** Facts of its profile besides those of its name in PROFILES. */
  facts?: Json
}

const OPENAI_NAME = /^[a-zA-Z0-9_-]{1,64}$/
const badName = (name: string): Rejection =>
  openai(
    `Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'. (${name})`,
    {
      code: 'invalid_value',
    },
  )
const longId = (id: string, at: string): Rejection =>
  openai(
    `Invalid '${at}.id': string too long. Expected a string with maximum length 40, but got a string with length ${id.length} instead.`,
    { param: `${at}.id`, code: 'string_above_max_length' },
  )
const common = [wellFormed, names(OPENAI_NAME, badName), schemas]

export const STRICT_SERVERS: Readonly<Record<string, StrictServer>> = {
  compatible: { checks: common },
  openai: {
    checks: [
      ...common,
      ids(/^.{1,40}$/s, longId),
      descriptions(1024),
      count(128),
      noField(
        'max_tokens',
        openai(
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
          {
            param: 'max_tokens',
            code: 'unsupported_parameter',
          },
        ),
      ),
    ],
  },
  azure: { checks: [...common, ids(/^.{1,40}$/s, longId), descriptions(1024), count(128)] },
  gemini: {
    checks: [
      ...common,
      signed,
      names(/^[a-zA-Z_]/, () => openai('Invalid function name. Must start with a letter or an underscore.')),
      count(128),
    ],
  },
  mistral: {
    checks: [
      wellFormed,
      schemas,
      mistralOrder,
      ids(/^[a-zA-Z0-9]{9}$/, id => ({
        status: 400,
        body: {
          object: 'error',
          message: `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`,
          type: 'invalid_request_error',
          param: null,
          code: null,
        },
      })),
      onlyFields([...MESSAGE_FIELDS, 'reasoning_details', 'extra_content'], (index, field) => ({
        status: 422,
        body: {
          detail: [
            {
              type: 'extra_forbidden',
              loc: ['body', 'messages', index, field],
              msg: 'Extra inputs are not permitted',
            },
          ],
        },
      })),
      fewImages(8),
    ],
  },
  deepseek: {
    checks: [
      ...common,
      noImages(index => ({
        status: 400,
        body: {
          error: {
            message: `Failed to deserialize the JSON body into the target type: messages[${index}]: unknown variant \`image_url\`, expected \`text\` at line 1 column 99`,
            type: 'invalid_request_error',
            param: null,
            code: 'invalid_request_error',
          },
        },
      })),
      allReasoning(() =>
        openai('The `reasoning_content` in the thinking mode must be passed back to the API.'),
      ),
      count(128),
    ],
  },
  moonshot: {
    checks: [
      ...common,
      names(/^[a-zA-Z_][a-zA-Z0-9-_]{0,63}$/, name =>
        openai(
          `Invalid request: function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes: ${name}`,
        ),
      ),
      allReasoning(index =>
        openai(
          `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${index}`,
        ),
      ),
      count(128),
    ],
  },
  groq: {
    checks: [
      ...common,
      count(128),
      body =>
        imagesOf(body).length <= 5
          ? null
          : openai('Too many images provided. This model supports up to 5 images'),
    ],
  },
  bedrock: {
    checks: [
      ...common,
      ids(/^[a-zA-Z0-9_-]{1,64}$/, (id, at) =>
        openai(
          `Value '${id}' at '${at}.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+`,
        ),
      ),
      alternating(
        openai(
          'A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.',
        ),
      ),
      fewImages(20),
    ],
  },
  'a chat template of Gemma': {
    facts: { strict_roles: true, system_role: 'user' },
    checks: [
      ...common,
      noSystem,
      alternating({
        status: 500,
        body: {
          error: {
            code: 500,
            message: 'Conversation roles must alternate user/assistant/user/assistant/...',
            type: 'server_error',
          },
        },
      }),
    ],
  },
  'a template of Mistral on vLLM': {
    facts: { strict_roles: true, tool_id_pattern: '^[a-zA-Z0-9]{9}$', tool_id_length: 9 },
    checks: [
      ...common,
      alternating({
        status: 400,
        body: {
          object: 'error',
          message:
            'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...',
          type: 'BadRequestError',
          param: null,
          code: 400,
        },
      }),
      ids(/^[a-zA-Z0-9]{9}$/, id =>
        openai(
          `Tool call IDs should be alphanumeric strings with length 9! (got tool_call id ${id}, with a length of ${id.length}; must have length of 9)`,
        ),
      ),
    ],
  },
  'llama.cpp without a projector': {
    facts: { vision: false },
    checks: [
      ...common,
      noImages(() => ({
        status: 500,
        body: {
          error: {
            code: 500,
            message:
              'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
            type: 'server_error',
          },
        },
      })),
    ],
  },
  'a gateway that wants text': {
    facts: {
      vision: false,
      empty_call_content: 'empty',
      omitted_fields: ['stream_options', 'temperature', 'extra_content', 'reasoning_details'],
      keeps_reasoning: 'none',
    },
    checks: [
      ...common,
      textContent,
      noImages(index => ({
        status: 422,
        body: {
          detail: [
            {
              type: 'string_type',
              loc: ['body', 'messages', index, 'content'],
              msg: 'Input should be a valid string',
            },
          ],
        },
      })),
      noField('stream_options', openai('Unrecognized request argument supplied: stream_options')),
      noField(
        'temperature',
        openai(
          "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
          {
            param: 'temperature',
            code: 'unsupported_value',
          },
        ),
      ),
      onlyFields(MESSAGE_FIELDS, (index, field) => ({
        status: 400,
        body: { error: { message: `messages.${index}.${field}: Extra inputs are not permitted` } },
      })),
      body =>
        eachCall(body, (call, at) => {
          const extra = Object.keys(call).find(key => !['id', 'type', 'function'].includes(key))
          return extra === undefined ? null : openai(`${at}.${extra}: property '${extra}' is unsupported`)
        }),
    ],
  },
  'a server of few tools': {
    facts: { max_tools: 3, omitted_keywords: ['additionalProperties'], max_description: 60 },
    checks: [...common, count(3), keyword('additionalProperties'), descriptions(60)],
  },
}

/** A server that enforces each fact of a profile. */
export function serverWith(facts: {
  vision: boolean
  max_images: number | null
  strict_roles: boolean
  system_role: string
  empty_call_content: string
  tool_name_pattern: string
  tool_id_pattern: string
  max_tools: number | null
  max_description: number | null
  keeps_reasoning: string
  thought_signatures: boolean
  max_tokens_field: string
  omitted_fields: readonly string[]
  omitted_keywords: readonly string[]
}): StrictServer {
  const refused = openai('refused')
  const other = facts.max_tokens_field === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  return {
    checks: [
      wellFormed,
      schemas,
      names(new RegExp(facts.tool_name_pattern), () => refused),
      ids(new RegExp(facts.tool_id_pattern), () => refused),
      ...(facts.vision ? [] : [noImages(() => refused)]),
      ...(facts.max_images === null ? [] : [fewImages(facts.max_images)]),
      ...(facts.strict_roles ? [alternating(refused), mistralOrder] : []),
      ...(facts.system_role === 'user' ? [noSystem] : []),
      ...(facts.empty_call_content === 'empty' ? [textContent] : []),
      ...(facts.max_tools === null ? [] : [count(facts.max_tools)]),
      ...(facts.max_description === null ? [] : [descriptions(facts.max_description)]),
      ...(facts.keeps_reasoning === 'all' ? [allReasoning(() => refused)] : []),
      ...(facts.keeps_reasoning === 'none'
        ? [onlyFields([...MESSAGE_FIELDS, 'reasoning_details', 'extra_content'], () => refused)]
        : []),
      ...(facts.thought_signatures ? [signed] : []),
      ...[other, ...facts.omitted_fields].map(field => noField(field, refused)),
      ...facts.omitted_keywords.map(keyword),
    ],
  }
}

/** Anthropic's rules of messages. */
export function anthropicRejection(body: Json): string | null {
  const messages = body['messages'] as { role: string; content: Json[] }[]
  if (messages[0]?.role !== 'user' || messages.at(-1)?.role !== 'user') return 'must begin and end with user'
  const used = new Set<string>()
  let open: string[] = []
  for (const [index, { role, content }] of messages.entries()) {
    if (messages[index - 1]?.role === role) return `roles must alternate (${index})`
    if (content.length === 0) return `messages.${index} is empty`
    const results = content
      .filter(block => block['type'] === 'tool_result')
      .map(block => block['tool_use_id'])
    if (JSON.stringify([...results].toSorted()) !== JSON.stringify([...open].toSorted()))
      return `tool_use without its tool_result (${index})`
    if (content.findLastIndex(block => block['type'] === 'tool_result') >= results.length)
      return `tool_result after other blocks (${index})`
    open = []
    for (const block of content) {
      const { type, text, content: inner, id, name, input } = block
      if (type === 'text' && String(text).trim() === '') return 'text content blocks must be non-empty'
      if (type === 'text' && !String(text).isWellFormed()) return 'not valid Unicode'
      if (type === 'tool_result' && String(inner).trim() === '') return 'an empty tool_result'
      if (type !== 'tool_use') continue
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(id))) return `tool_use.id ${String(id)}`
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(name))) return `tool_use.name ${String(name)}`
      if (typeof input !== 'object' || input === null || Array.isArray(input)) return 'tool_use.input'
      if (used.has(String(id))) return 'tool_use ids must be unique'
      used.add(String(id))
      open.push(String(id))
    }
  }
  const tools = (body['tools'] ?? []) as { name: string; input_schema: Json }[]
  if (new Set(tools.map(({ name }) => name)).size !== tools.length) return 'tools: Tool names must be unique.'
  const bad = tools.find(
    ({ input_schema: { type, anyOf, oneOf, allOf } }) => type !== 'object' || anyOf || oneOf || allOf,
  )
  return bad === undefined ? null : `tools.${bad.name}.input_schema`
}

export const rejectionOf = (server: StrictServer, body: Json): Rejection | null => {
  for (const check of server.checks) {
    const rejection = check(body)
    if (rejection) return rejection
  }
  return null
}
