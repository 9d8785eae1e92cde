/**
 * Rules of model servers, each with the words of its refusal. Written from public documentation and
 * reports, without the code that composes requests.
 */
export type Json = Record<string, unknown>
export type Rejection = { status: number; body: unknown }
/** Null: accepted. */
export type Check = (body: Json) => Rejection | null

export type Message = Json & { role: string; content?: unknown; tool_calls?: Call[]; tool_call_id?: string }
export type Call = Json & { id: string; type: string; function: { name: string; arguments: string } }
export type Tool = { function: { name: string; description: string; parameters: Json } }

export const messagesOf = (body: Json): Message[] => body['messages'] as Message[]
export const toolsOf = (body: Json): Tool[] => (body['tools'] ?? []) as Tool[]
export const openai = (message: string, more: Json = {}): Rejection => ({
  status: 400,
  body: { error: { message, type: 'invalid_request_error', param: null, code: null, ...more } },
})

export const isObjectText = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
export const eachCall = (
  body: Json,
  visit: (call: Call, at: string) => Rejection | null,
): Rejection | null => {
  for (const [index, message] of messagesOf(body).entries())
    for (const [place, call] of (message.tool_calls ?? []).entries()) {
      const rejection = visit(call, `messages[${index}].tool_calls[${place}]`)
      if (rejection) return rejection
    }
  return null
}

/** What every server checks: a call's arguments, its results, texts, and the first and last message. */
export const wellFormed: Check = body => {
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

export const names =
  (pattern: RegExp, words: (name: string) => Rejection): Check =>
  body =>
    eachCall(body, call => (pattern.test(call.function.name) ? null : words(call.function.name))) ??
    toolsOf(body)
      .map(tool => (pattern.test(tool.function.name) ? null : words(tool.function.name)))
      .find(Boolean) ??
    null

export const ids =
  (pattern: RegExp, words: (id: string, at: string) => Rejection): Check =>
  body =>
    eachCall(body, (call, at) => (pattern.test(call.id) ? null : words(call.id, at)))

export const schemas: Check = body => {
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
export const keyword =
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
export const descriptions =
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
export const count =
  (max: number): Check =>
  body =>
    toolsOf(body).length <= max
      ? null
      : openai(
          `Invalid 'tools': array too long. Expected an array with maximum length ${max}, but got an array with ` +
            `length ${toolsOf(body).length} instead.`,
          { param: 'tools', code: 'array_above_max_length' },
        )

export const imagesOf = (body: Json): number[] =>
  messagesOf(body).flatMap(({ content }, index) =>
    Array.isArray(content)
      ? (content as Json[]).filter(part => part['type'] === 'image_url').map(() => index)
      : [],
  )
export const noImages =
  (words: (index: number) => Rejection): Check =>
  body => {
    const [first] = imagesOf(body)
    return first === undefined ? null : words(first)
  }
export const fewImages =
  (max: number): Check =>
  body =>
    imagesOf(body).length <= max ? null : openai(`At most ${max} image(s) may be provided in one prompt.`)

/** Mistral's API: code 3230. */
export const mistralOrder: Check = body => {
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
export const alternating =
  (rejection: Rejection): Check =>
  body => {
    const rest = messagesOf(body).filter(({ role }) => role !== 'system')
    const counted = rest.filter(
      ({ role, tool_calls }) => role === 'user' || (role === 'assistant' && !tool_calls),
    )
    return counted.every(({ role }, index) => (role === 'user') === (index % 2 === 0)) ? null : rejection
  }
export const noSystem: Check = body =>
  messagesOf(body).some(({ role }) => role === 'system')
    ? {
        status: 500,
        body: { error: { code: 500, message: 'System role not supported', type: 'server_error' } },
      }
    : null

export const allReasoning =
  (words: (index: number) => Rejection): Check =>
  body => {
    const index = messagesOf(body).findIndex(
      ({ role, reasoning_content }) =>
        role === 'assistant' && (typeof reasoning_content !== 'string' || reasoning_content === ''),
    )
    return index === -1 ? null : words(index)
  }
/** Servers whose models reject unknown fields of messages. */
export const onlyFields =
  (allowed: readonly string[], words: (index: number, field: string) => Rejection): Check =>
  body => {
    for (const [index, message] of messagesOf(body).entries())
      for (const field of Object.keys(message)) if (!allowed.includes(field)) return words(index, field)
    return null
  }
export const MESSAGE_FIELDS = ['role', 'content', 'tool_calls', 'tool_call_id', 'name']

export const signed: Check = body => {
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
export const textContent: Check = body => {
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
export const noField =
  (field: string, words: Rejection): Check =>
  body =>
    field in body ? words : null
