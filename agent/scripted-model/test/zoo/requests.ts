/** What a server of the zoo finds wrong in a request: the first check of its profile that fails. */
import type { Check, ZooProfile } from './profile.ts'

export type Json = Record<string, unknown>
export type SentCall = { id: string; name: string; arguments: string; isSigned: boolean }
/** A message of either protocol. */
export type SentMessage = {
  role: string
  /** Null: the content was null. */
  text: string | null
  pictures: number
  calls: readonly SentCall[]
  /** The call that it answers; undefined unless it is a result. */
  answers: string | undefined
  /** Names of its fields with reasoning. */
  reasoning: readonly string[]
}
export type SentTool = { name: string; description: string; schema: Json }
export type SentRequest = {
  body: Json
  messages: readonly SentMessage[]
  tools: readonly SentTool[]
}

/** What is found, as text for the refusal, and the position of the tool where it is; undefined: nothing. */
export type Fault = { found: string; at?: number }
type Find = (request: SentRequest, limits: NonNullable<ZooProfile['limits']>) => string | Fault | undefined

const firstAt = (messages: readonly SentMessage[], fits: (message: SentMessage, at: number) => boolean) => {
  const at = messages.findIndex(fits)
  return at === -1 ? undefined : String(at)
}
const callsOf = ({ messages }: SentRequest): readonly SentCall[] => messages.flatMap(message => message.calls)
const namesOf = (request: SentRequest): string[] => [
  ...request.tools.map(tool => tool.name),
  ...callsOf(request).map(call => call.name),
]
const hasField =
  (name: string): Find =>
  ({ body }) =>
    name in body ? name : undefined
const ofTurns = ({ messages }: SentRequest): readonly SentMessage[] =>
  messages.filter(message => message.role !== 'system')
/** Results belong to the user where roles must alternate. */
const side = ({ role }: SentMessage): string => (role === 'tool' ? 'user' : role)

/** From this size on a conversation is too long: the system prompt and the tools do not count. */
const WINDOW_CHARS = 8192 * 4

const FIND: Readonly<Record<Check, Find>> = {
  stream_options: hasField('stream_options'),
  max_tokens: hasField('max_tokens'),
  max_completion_tokens: hasField('max_completion_tokens'),
  pictures: ({ messages }) => firstAt(messages, message => message.pictures > 0),
  many_pictures({ messages }, { pictures = 1 }) {
    const count = messages.reduce((sum, message) => sum + message.pictures, 0)
    return count > pictures ? String(count) : undefined
  },
  user_after_tool: ({ messages }) =>
    firstAt(messages, (message, at) => message.role === 'user' && messages[at - 1]?.role === 'tool'),
  same_role_twice(request) {
    const turns = ofTurns(request)
    return turns.find(
      (message, at) =>
        at > 0 &&
        side(message) === side(turns[at - 1] ?? message) &&
        !(message.role === 'tool' && turns[at - 1]?.role === 'tool'),
    )?.role
  },
  late_system: ({ messages }) => firstAt(messages, (message, at) => message.role === 'system' && at > 0),
  bad_name: (request, { name }) => namesOf(request).find(each => name?.test(each) === false),
  bad_id: (request, { id }) =>
    callsOf(request)
      .map(call => call.id)
      .find(each => id?.test(each) === false),
  long_description({ tools }, { description = 1024 }) {
    const at = tools.findIndex(tool => tool.description.length > description)
    return at === -1 ? undefined : { found: String(description), at }
  },
  many_tools: ({ tools }, { tools: most = 128 }) => (tools.length > most ? String(tools.length) : undefined),
  schema_keyword({ tools }, { keywords = [] }) {
    for (const [at, { schema }] of tools.entries()) {
      const found = keywords.find(keyword => hasKeyword(schema, keyword))
      if (found !== undefined) return { found, at }
    }
    return undefined
  },
  bad_arguments: request => callsOf(request).find(call => !isObject(call.arguments))?.arguments,
  null_content: ({ messages }) => firstAt(messages, message => message.text === null),
  empty_content: ({ messages }) =>
    firstAt(
      messages,
      ({ text, pictures, calls, role }) =>
        role !== 'system' && (text ?? '').trim() === '' && pictures === 0 && calls.length === 0,
    ),
  reasoning_field: ({ messages }) => messages.find(({ reasoning }) => reasoning.length > 0)?.reasoning[0],
  no_reasoning: ({ messages }) =>
    firstAt(
      messages,
      message => message.calls.length > 0 && !message.reasoning.includes('reasoning_content'),
    ),
  no_signature: request => callsOf(request).find(call => !call.isSigned)?.name,
  adaptive_thinking: ({ body }) =>
    JSON.stringify(body['thinking'] ?? '').includes('adaptive') ? 'adaptive' : undefined,
  unpaired_result({ messages }) {
    const owed = new Set<string>()
    for (const message of messages) {
      if (message.answers !== undefined) {
        if (!owed.delete(message.answers)) return message.answers
      } else if (owed.size > 0) return [...owed][0]
      for (const call of message.calls) owed.add(call.id)
    }
    return [...owed][0]
  },
  too_long(request) {
    const chars = ofTurns(request).reduce((sum, { text }) => sum + (text?.length ?? 0), 0)
    return chars > WINDOW_CHARS ? String(Math.ceil(chars / 4)) : undefined
  },
}

export function findFault(
  { refuses, limits = {} }: ZooProfile,
  request: SentRequest,
): ({ check: Check } & Fault) | undefined {
  for (const check of Object.keys(refuses) as Check[]) {
    const fault = FIND[check](request, limits)
    if (typeof fault === 'string') return { check, found: fault }
    if (fault !== undefined) return { check, ...fault }
  }
  return undefined
}

/** A property may have the name of a keyword. */
function hasKeyword(schema: unknown, keyword: string): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  return Object.entries(schema).some(([key, value]) =>
    key === 'properties'
      ? Object.values(fields(value)).some(property => hasKeyword(property, keyword))
      : key === keyword || hasKeyword(value, keyword),
  )
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    // The arguments are not JSON, which is what the check looks for.
    return false
  }
}

// ---- reading requests

const fields = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.map(fields) : [])
const text = (value: unknown): string => (typeof value === 'string' ? value : '')

export function readOpenAI(body: Json): SentRequest {
  return {
    body,
    messages: list(body['messages']).map((message): SentMessage => {
      const { content } = message
      const parts = list(content)
      return {
        role: text(message['role']),
        text:
          content === null || content === undefined
            ? null
            : typeof content === 'string'
              ? content
              : parts.map(part => text(part['text'])).join(''),
        pictures: parts.filter(part => part['type'] === 'image_url').length,
        calls: list(message['tool_calls']).map(call => ({
          id: text(call['id']),
          name: text(fields(call['function'])['name']),
          arguments: text(fields(call['function'])['arguments']),
          isSigned: fields(fields(call['extra_content'])['google'])['thought_signature'] !== undefined,
        })),
        answers: message['role'] === 'tool' ? text(message['tool_call_id']) : undefined,
        reasoning: ['reasoning_content', 'reasoning', 'reasoning_details'].filter(name => name in message),
      }
    }),
    tools: list(body['tools']).map(({ function: tool }) => ({
      name: text(fields(tool)['name']),
      description: text(fields(tool)['description']),
      schema: fields(fields(tool)['parameters']),
    })),
  }
}

export function readAnthropic(body: Json): SentRequest {
  const system = list(body['system'])
    .map(block => text(block['text']))
    .join('\n\n')
  return {
    body,
    messages: [
      ...(system === '' ? [] : [message('system', system)]),
      ...list(body['messages']).flatMap(({ role, content }) =>
        ofBlocks(text(role), typeof content === 'string' ? [{ type: 'text', text: content }] : list(content)),
      ),
    ],
    tools: list(body['tools']).map(tool => ({
      name: text(tool['name']),
      description: text(tool['description']),
      schema: fields(tool['input_schema']),
    })),
  }
}

const message = (role: string, content: string | null, more: Partial<SentMessage> = {}): SentMessage => ({
  role,
  text: content,
  pictures: 0,
  calls: [],
  answers: undefined,
  reasoning: [],
  ...more,
})

/** A message of Anthropic's protocol holds the results of calls and the words of the user. */
function ofBlocks(role: string, blocks: readonly Json[]): SentMessage[] {
  const results = blocks.filter(block => block['type'] === 'tool_result')
  const rest = blocks.filter(block => block['type'] !== 'tool_result')
  return [
    ...results.map(block => message('tool', text(block['content']), { answers: text(block['tool_use_id']) })),
    ...(rest.length === 0
      ? []
      : [
          message(
            role,
            rest
              .filter(block => block['type'] === 'text')
              .map(block => text(block['text']))
              .join(''),
            {
              pictures: rest.filter(block => block['type'] === 'image').length,
              calls: rest
                .filter(block => block['type'] === 'tool_use')
                .map(block => ({
                  id: text(block['id']),
                  name: text(block['name']),
                  arguments: JSON.stringify(block['input']),
                  isSigned: true,
                })),
              reasoning: rest.filter(block => block['type'] === 'thinking').map(() => 'thinking'),
            },
          ),
        ]),
  ]
}
