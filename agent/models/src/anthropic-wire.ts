/** The events of Anthropic's message stream as sent by the server. */
import { z } from 'zod'
import { lenientNumber } from './answer-fields.ts'

const tokens = lenientNumber
export const UsageWire = z.looseObject({
  input_tokens: tokens,
  output_tokens: tokens,
  cache_creation_input_tokens: tokens,
  cache_read_input_tokens: tokens,
  output_tokens_details: z.looseObject({ thinking_tokens: tokens }).nullish().catch(null),
})
const usage = UsageWire.nullish().catch(null)
const index = z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)])
export const BlockDelta = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  thinking: z.string().optional(),
  signature: z.string().optional(),
  partial_json: z.string().optional(),
})
export const Event = z.union([
  z.looseObject({
    type: z.literal('message_start'),
    message: z.looseObject({ model: z.string().nullish(), usage }),
  }),
  z.looseObject({
    type: z.literal('content_block_start'),
    index,
    content_block: z.looseObject({ type: z.string() }),
  }),
  z.looseObject({
    type: z.literal('content_block_delta'),
    index,
    delta: BlockDelta,
  }),
  z.looseObject({ type: z.literal('content_block_stop'), index }),
  z.looseObject({
    type: z.literal('message_delta'),
    delta: z.looseObject({ stop_reason: z.string().nullish() }),
    usage,
  }),
  z.looseObject({ type: z.literal('message_stop') }),
])
/** A whole message, from a server that does not stream. */
export const WholeMessage = z.looseObject({
  type: z.literal('message').optional(),
  model: z.string().nullish(),
  content: z.array(z.looseObject({ type: z.string() })),
  stop_reason: z.string().nullish(),
  usage,
})
/** The known event types; new ones may appear at any time. */
export const KNOWN = new Set<unknown>(Event.options.map(option => option.shape.type.value))
