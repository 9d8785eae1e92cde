/** Converts our request to Anthropic's Messages API. */
import { nestsTooDeep } from '@cairn/protocol'
import type { ModelRequest } from './provider.ts'
import { repairRequest, type SentRequest } from './repair/repair-request.ts'
import type { SentAssistant, SentMessage } from './repair/sent-message.ts'
import type { ServerProfile } from './servers/profiles.ts'
import { sentFacts, type SentRequestFacts } from './servers/sent-facts.ts'

export type AnthropicSettings = {
  /** Required by the API. */
  maxTokens: number
  /** Whether the model thinks before it answers. */
  reasoning: boolean
  profile: ServerProfile
}

type Json = Record<string, unknown>
type Turn = { role: 'user' | 'assistant'; content: Json[] }

const CACHED = { cache_control: { type: 'ephemeral' } }
/** Anthropic counts thinking within max_tokens and rejects a budget under 1024. */
const MIN_BUDGET = 1024

/** The body of POST /v1/messages. */
export function anthropicBody(request: ModelRequest, settings: AnthropicSettings): Json {
  const sent = toSend(request, settings)
  const system = sent.messages.flatMap(message => (message.role === 'system' ? [message.content] : []))
  const turns = toTurns(sent.messages, settings.profile)
  const tools = toTools(sent, turns)
  const wanted = request.json_schema
  return {
    model: request.model,
    max_tokens: limitTokens(settings),
    stream: true,
    ...(system.length > 0 ? { system: [{ type: 'text', text: system.join('\n\n'), ...CACHED }] } : {}),
    messages: markLast(turns),
    ...(tools.length > 0 ? { tools } : {}),
    ...(wanted
      ? { tool_choice: { type: 'tool', name: wanted.name } }
      : tools.length > 0 && request.tools.length === 0
        ? { tool_choice: { type: 'none' } }
        : {}),
    ...optionalFields(request, settings),
  }
}

/** What the body contains, for learning from its refusal. */
export function anthropicFacts(request: ModelRequest, settings: AnthropicSettings): SentRequestFacts {
  const fields = { max_tokens: limitTokens(settings), ...optionalFields(request, settings) }
  return sentFacts(request, toSend(request, settings), fields, settings.profile)
}

/** Messages are merged into turns below, where blocks keep their order, so the repair must not merge them. */
function toSend(request: ModelRequest, { profile }: AnthropicSettings): SentRequest {
  // A schema is requested as one more tool.
  const max_tools =
    profile.max_tools === null || !request.json_schema ? profile.max_tools : profile.max_tools - 1
  return repairRequest(request, { ...profile, strict_roles: false, system_role: 'system', max_tools })
}

const limitTokens = ({ maxTokens, profile: { max_tokens_limit } }: AnthropicSettings): number =>
  Math.min(maxTokens, max_tokens_limit ?? maxTokens)

/** Fields that a model may not support: each is left out once a refusal named it. */
function optionalFields(request: ModelRequest, settings: AnthropicSettings): Json {
  const maxTokens = limitTokens(settings)
  const { omitted_fields, thinking: form } = settings.profile
  // Thinking excludes a forced tool, which is how a schema is requested.
  const thinking =
    request.json_schema || !settings.reasoning || omitted_fields.includes('thinking')
      ? undefined
      : form === 'adaptive'
        ? { type: 'adaptive' }
        : maxTokens > MIN_BUDGET
          ? { type: 'enabled', budget_tokens: Math.max(MIN_BUDGET, Math.floor(maxTokens / 2)) }
          : undefined
  const { temperature } = request
  return {
    ...(thinking ? { thinking } : {}),
    // The API rejects a temperature together with thinking.
    ...(temperature === undefined || thinking || omitted_fields.includes('temperature')
      ? {}
      : { temperature: Math.min(1, temperature) }),
  }
}

function toTools(request: SentRequest, turns: readonly Turn[]): Json[] {
  const tools: Json[] = request.tools.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: parameters,
  }))
  if (request.json_schema) {
    tools.push({
      name: request.json_schema.name,
      description: 'Give the answer by calling this tool once.',
      input_schema: request.json_schema.schema,
    })
  }
  if (request.tools.length === 0) {
    // A conversation with tool blocks must declare its tools even if none may be called.
    const used = new Set(
      turns.flatMap(turn =>
        turn.content.filter(block => block['type'] === 'tool_use').map(block => String(block['name'])),
      ),
    )
    if (request.json_schema) used.delete(request.json_schema.name)
    for (const name of used) tools.push({ name, input_schema: { type: 'object' } })
  }
  const last = tools.at(-1)
  return last ? [...tools.slice(0, -1), { ...last, ...CACHED }] : []
}

/** In this API roles alternate, tool results belong to the user, and texts must not be empty. */
function toTurns(messages: readonly SentMessage[], { keeps_reasoning }: ServerProfile): Turn[] {
  const turns: Turn[] = []
  const add = (role: Turn['role'], content: Json[]) => {
    if (content.length === 0) return
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content: [...content] })
  }
  for (const message of messages) {
    if (message.role === 'tool') add('user', [toolResult(message.tool_call_id, message.content)])
    else if (message.role === 'assistant')
      add('assistant', assistantBlocks(message, keeps_reasoning !== 'none'))
    else if (message.role === 'user') {
      add('user', [
        ...(message.images ?? []).map(({ data, mime_type }) => ({
          type: 'image',
          source: { type: 'base64', media_type: mime_type, data },
        })),
        ...textBlocks(message.content),
      ])
    }
  }
  // Results must come first in a message that answers tool calls.
  for (const turn of turns)
    if (turn.role === 'user')
      turn.content.sort((a, b) => Number(b['type'] === 'tool_result') - Number(a['type'] === 'tool_result'))
  return turns
}

const textBlocks = (text: string): Json[] => (text.trim() === '' ? [] : [{ type: 'text', text }])

function toolResult(id: string, content: string): Json {
  return {
    type: 'tool_result',
    tool_use_id: id,
    content,
    ...(saysError(content) ? { is_error: true } : {}),
  }
}

/** A failed tool's content is an object with an `error` key. */
function saysError(content: string): boolean {
  if (!content.startsWith('{')) return false
  const value = parseObject(content)
  return value !== undefined && 'error' in value
}

/**
 * The blocks in the model's order: thinking first, as usual, or as given by the placeholders that
 * anthropic-answer.ts writes when thinking came in between.
 */
function assistantBlocks(message: SentAssistant, withThinking: boolean): Json[] {
  const uses = (message.tool_calls ?? []).map(call => ({
    type: 'tool_use',
    id: call.id,
    name: call.function.name,
    input: JSON.parse(call.function.arguments) as Json,
  }))
  const kept = message.reasoning_details ?? []
  const blocks: Json[] = []
  let read = 0
  for (const entry of kept) {
    const type = entry['type']
    if (type === 'thinking' || type === 'redacted_thinking') {
      if (withThinking) blocks.push(entry)
    } else if (type === 'text_of' && typeof entry['length'] === 'number') {
      blocks.push(...textBlocks(message.content.slice(read, read + entry['length'])))
      read += entry['length']
    } else if (type === 'call_of') {
      const next = uses.shift()
      if (next) blocks.push(next)
    }
  }
  return [...blocks, ...textBlocks(message.content.slice(read)), ...uses]
}

function parseObject(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    // Deeper arguments cannot be serialized: JSON.stringify would overflow the stack.
    return typeof value === 'object' && value !== null && !Array.isArray(value) && !nestsTooDeep(value)
      ? (value as Json)
      : undefined
  } catch {
    // The caller handles text that is not a JSON object.
    return undefined
  }
}

/** Marks the end of the conversation for caching: the next call of the loop reads it from the cache. */
function markLast(turns: readonly Turn[]): Turn[] {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (!last || !block || block['type'] === 'thinking' || block['type'] === 'redacted_thinking')
    return [...turns]
  return [
    ...turns.slice(0, -1),
    { ...last, content: [...last.content.slice(0, -1), { ...block, ...CACHED }] },
  ]
}
