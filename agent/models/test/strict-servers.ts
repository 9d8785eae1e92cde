/**
 * Model servers reduced to what they refuse, in their own words. Written from public documentation and
 * reports, without the code that composes requests.
 */
type Json = Record<string, unknown>
export type Rejection = { status: number; body: unknown }
/** Null: accepted. */
type Check = (body: Json) => Rejection | null

type Message = Json & { role: string; content?: unknown; tool_calls?: Call[]; tool_call_id?: string }
type Call = Json & { id: string; type: string; function: { name: string; arguments: string } }
type Tool = { function: { name: string; description: string; parameters: Json } }

const messagesOf = (body: Json): Message[] => body['messages'] as Message[]
const toolsOf = (body: Json): Tool[] => (body['tools'] ?? []) as Tool[]
const openai = (message: string, more: Json = {}): Rejection => ({
  status: 400,
  body: { error: { message, type: 'invalid_request_error', param: null, code: null, ...more } },
})

const isObjectText = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
const eachCall = (body: Json, visit: (call: Call, at: string) => Rejection | null): Rejection | null => {
  for (const [index, message] of messagesOf(body).entries())
    for (const [place, call] of (message.tool_calls ?? []).entries()) {
      const rejection = visit(call, `messages[${index}].tool_calls[${place}]`)
      if (rejection) return rejection
    }
  return null
}

/** What every server checks: a call's arguments, its results, texts, and the first and last message. */
const wellFormed: Check = body => {
  const messages = messagesOf(body)
  const badArguments = eachCall(body, (call, at) =>
    isObjectText(call.function.arguments) && call.type === 'function'
      ? null
      : openai(`${at}.function.arguments must be a JSON object`),
  )
  if (badArguments) return badArguments
  const seen = new Set<string>()
  let open: string[] = []
  for (const [index, { role, content, tool_calls, tool_call_id }] of messages.entries()) {
    if (role === 'tool') {
      if (open[0] !== tool_call_id)
        return openai(
          `messages with role 'tool' must be a response to a preceding message (messages[${index}])`,
        )
      open = open.slice(1)
      if (typeof content !== 'string' || content.trim() === '') return openai(`messages[${index}] is empty`)
      continue
    }
    if (open.length > 0) return openai(`tool_call_ids did not have response messages: ${open.join(', ')}`)
    if (role === 'system' && index > 0) return openai('System message must be at the beginning.')
    for (const { id } of tool_calls ?? []) {
      if (seen.has(id)) return openai(`tool_calls ids must be unique: ${id}`)
      seen.add(id)
      open.push(id)
    }
    const texts = Array.isArray(content)
      ? (content as Json[]).filter(part => part['type'] === 'text').map(part => part['text'])
      : [content]
    if (!tool_calls && texts.some(text => typeof text !== 'string' || text.trim() === ''))
      return openai(`messages[${index}] must not be empty`)
    if (texts.some(text => typeof text === 'string' && !text.isWellFormed()))
      return openai(`messages[${index}] is not valid Unicode`)
  }
  if (open.length > 0) return openai(`tool_call_ids did not have response messages: ${open.join(', ')}`)
  if (!['user', 'tool'].includes(messages.at(-1)?.role ?? ''))
    return openai('the conversation must end with a user message or a tool result')
  return null
}

const names =
  (pattern: RegExp, words: (name: string) => Rejection): Check =>
  body =>
    eachCall(body, call => (pattern.test(call.function.name) ? null : words(call.function.name))) ??
    toolsOf(body)
      .map(tool => (pattern.test(tool.function.name) ? null : words(tool.function.name)))
      .find(Boolean) ??
    null

const ids =
  (pattern: RegExp, words: (id: string, at: string) => Rejection): Check =>
  body =>
    eachCall(body, (call, at) => (pattern.test(call.id) ? null : words(call.id, at)))

const schemas: Check = body => {
  const seen = new Set<string>()
  for (const [index, { function: fn }] of toolsOf(body).entries()) {
    const where = { param: `tools[${index}].function.parameters`, code: 'invalid_function_parameters' }
    if (seen.has(fn.name)) return openai(`tools: Tool names must be unique.`, { param: `tools[${index}]` })
    seen.add(fn.name)
    const { type, properties, anyOf, oneOf, allOf } = fn.parameters
    const intro = `Invalid schema for function '${fn.name}': `
    if (type !== 'object') return openai(`${intro}schema must be a JSON Schema of 'type: "object"'`, where)
    if (anyOf ?? oneOf ?? allOf)
      return openai(
        `${intro}schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf' at the top level`,
        where,
      )
    if (typeof properties !== 'object')
      return openai(`${intro}In context=(), object schema missing properties.`, where)
    for (const [name, value] of Object.entries(properties as Json))
      if ((value as Json)['type'] === 'array' && (value as Json)['items'] === undefined)
        return openai(`${intro}In context=('properties', '${name}'), array schema missing items.`, where)
  }
  return null
}
const keyword =
  (word: string): Check =>
  body => {
    const index = toolsOf(body).findIndex(tool =>
      JSON.stringify(tool.function.parameters).includes(`"${word}":`),
    )
    return index === -1
      ? null
      : {
          status: 400,
          body: [
            {
              error: {
                code: 400,
                message: `Invalid JSON payload received. Unknown name "${word}" at 'tools[0].function_declarations[${index}].parameters': Cannot find field.`,
                status: 'INVALID_ARGUMENT',
              },
            },
          ],
        }
  }
const descriptions =
  (max: number): Check =>
  body => {
    const index = toolsOf(body).findIndex(tool => tool.function.description.length > max)
    return index === -1
      ? null
      : openai(
          `Invalid 'tools[${index}].function.description': string too long. Expected a string with maximum length ` +
            `${max}, but got a string with length ${toolsOf(body)[index]?.function.description.length} instead.`,
          { param: `tools[${index}].function.description`, code: 'string_above_max_length' },
        )
  }
const count =
  (max: number): Check =>
  body =>
    toolsOf(body).length <= max
      ? null
      : openai(
          `Invalid 'tools': array too long. Expected an array with maximum length ${max}, but got an array with ` +
            `length ${toolsOf(body).length} instead.`,
          { param: 'tools', code: 'array_above_max_length' },
        )

const imagesOf = (body: Json): number[] =>
  messagesOf(body).flatMap(({ content }, index) =>
    Array.isArray(content)
      ? (content as Json[]).filter(part => part['type'] === 'image_url').map(() => index)
      : [],
  )
const noImages =
  (words: (index: number) => Rejection): Check =>
  body => {
    const [first] = imagesOf(body)
    return first === undefined ? null : words(first)
  }
const fewImages =
  (max: number): Check =>
  body =>
    imagesOf(body).length <= max ? null : openai(`At most ${max} image(s) may be provided in one prompt.`)

/** Mistral's API: code 3230. */
const mistralOrder: Check = body => {
  const roles = messagesOf(body).map(({ role }) => role)
  for (const [index, role] of roles.entries()) {
    const before = roles[index - 1]
    if ((role === 'user' && before === 'tool') || (role === 'assistant' && before === 'assistant'))
      return {
        status: 400,
        body: {
          object: 'error',
          message: `Unexpected role '${role}' after role '${before}'`,
          type: 'invalid_request_message_order',
          param: null,
          code: '3230',
        },
      }
  }
  return null
}
/** Chat templates of Mistral's and Google's open models, as vLLM and llama.cpp run them. */
const alternating =
  (rejection: Rejection): Check =>
  body => {
    const rest = messagesOf(body).filter(({ role }) => role !== 'system')
    const counted = rest.filter(
      ({ role, tool_calls }) => role === 'user' || (role === 'assistant' && !tool_calls),
    )
    return counted.every(({ role }, index) => (role === 'user') === (index % 2 === 0)) ? null : rejection
  }
const noSystem: Check = body =>
  messagesOf(body).some(({ role }) => role === 'system')
    ? {
        status: 500,
        body: { error: { code: 500, message: 'System role not supported', type: 'server_error' } },
      }
    : null

const allReasoning =
  (words: (index: number) => Rejection): Check =>
  body => {
    const index = messagesOf(body).findIndex(
      ({ role, reasoning_content }) =>
        role === 'assistant' && (typeof reasoning_content !== 'string' || reasoning_content === ''),
    )
    return index === -1 ? null : words(index)
  }
/** Servers whose models reject unknown fields of messages. */
const onlyFields =
  (allowed: readonly string[], words: (index: number, field: string) => Rejection): Check =>
  body => {
    for (const [index, message] of messagesOf(body).entries())
      for (const field of Object.keys(message)) if (!allowed.includes(field)) return words(index, field)
    return null
  }
const MESSAGE_FIELDS = ['role', 'content', 'tool_calls', 'tool_call_id', 'name']

const signed: Check = body => {
  for (const { tool_calls } of messagesOf(body)) {
    const [first] = tool_calls ?? []
    const google = (first?.['extra_content'] as Json | undefined)?.['google'] as Json | undefined
    if (first && typeof google?.['thought_signature'] !== 'string')
      return {
        status: 400,
        body: [
          {
            error: {
              code: 400,
              message:
                'Function call is missing a thought_signature in functionCall parts. This is required for tools to ' +
                `work correctly. Additional data, function call \`default_api:${first.function.name}\`, position 2.`,
              status: 'INVALID_ARGUMENT',
            },
          },
        ],
      }
  }
  return null
}
const textContent: Check = body => {
  const index = messagesOf(body).findIndex(({ content }) => content === null || content === undefined)
  return index === -1
    ? null
    : {
        status: 422,
        body: {
          detail: [
            {
              type: 'string_type',
              loc: ['body', 'messages', index, 'content'],
              msg: 'Input should be a valid string',
              input: null,
            },
          ],
        },
      }
}
const noField =
  (field: string, words: Rejection): Check =>
  body =>
    field in body ? words : null

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
