/**
 * Fields of an answer that its server expects again: reasoning, and fields of tool calls such as thought
 * signatures. They are in the log in `reasoning_details` of the message, with the model that wrote them, and
 * are sent to that model only; another server may reject unknown fields.
 */
import type { AssistantMessageData, ModelMessage } from '../provider.ts'
import type { ServerProfile } from '../servers/profiles.ts'
import type { FieldsOf } from './pair-calls.ts'

type Json = Record<string, unknown>

/** The only entry of `reasoning_details` that OpenAI's protocol writes: the original fields. */
export const REASONING_FORMAT = 'openai-compatible'
type KeptFields = {
  format: typeof REASONING_FORMAT
  model: string
  reasoning_content?: string
  reasoning?: string
  reasoning_details?: Json[]
  extra_content?: Json
  /** By id of the tool call. */
  call_fields?: Record<string, Json>
}

/** Stands for reasoning that is not recorded, for servers that require some with every message. */
const NOT_RECORDED = '(not recorded)'

/**
 * Blocks and fields of calls are always returned. Reasoning as text is returned as the profile says: with no
 * message, between the tool calls of the running turn, or with every message.
 */
export function returnedFields(
  messages: readonly ModelMessage[],
  model: string,
  { keeps_reasoning, omitted_fields }: ServerProfile,
): FieldsOf {
  const lastUser = messages.findLastIndex(message => message.role === 'user')
  const without = (fields: Json): Json =>
    omitted_fields.length === 0
      ? fields
      : Object.fromEntries(Object.entries(fields).filter(([key]) => !omitted_fields.includes(key)))
  return (message, index) => {
    const kept = keptBy(message, model)
    const isRunning = index > lastUser && (message.tool_calls?.length ?? 0) > 0
    const withText = keeps_reasoning === 'all' || (keeps_reasoning === 'turn' && isRunning)
    const fields = {
      ...(kept?.reasoning_details ? { reasoning_details: kept.reasoning_details } : {}),
      ...(kept?.extra_content ? { extra_content: kept.extra_content } : {}),
      ...(withText && kept?.reasoning_content ? { reasoning_content: kept.reasoning_content } : {}),
      ...(withText && kept?.reasoning ? { reasoning: kept.reasoning } : {}),
    }
    const calls = Object.entries(kept?.call_fields ?? {}).map(([id, own]) => [id, without(own)] as const)
    return { message: without(fields), calls: Object.fromEntries(calls) }
  }
}

const keptBy = (message: AssistantMessageData, model: string): KeptFields | undefined =>
  message.reasoning_details?.find(
    (entry): entry is KeptFields => entry['format'] === REASONING_FORMAT && entry['model'] === model,
  )

/** Accepted by Google's servers in place of a signature, for calls that another model made. */
const NO_SIGNATURE = { google: { thought_signature: 'skip_thought_signature_validator' } }

/** The fields of a message that its server requires, whatever is recorded. */
export function requiredFields(fields: Json | undefined, { keeps_reasoning }: ServerProfile): Json {
  if (keeps_reasoning !== 'all') return fields ?? {}
  const { reasoning, ...rest } = fields ?? {}
  const text = rest['reasoning_content'] ?? reasoning
  return { ...rest, reasoning_content: typeof text === 'string' && text !== '' ? text : NOT_RECORDED }
}

/** The same for one call; only the first call of a message has a signature. */
export const requiredCallFields = (
  fields: Json | undefined,
  index: number,
  { thought_signatures }: ServerProfile,
): Json =>
  thought_signatures && index === 0 && fields?.['extra_content'] === undefined
    ? { ...fields, extra_content: NO_SIGNATURE }
    : (fields ?? {})
