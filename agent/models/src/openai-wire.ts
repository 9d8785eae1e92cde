/** Chunks of OpenAI's chat-completion stream as servers send them, with their deviations. */
import { z } from 'zod'
import { tokenCount } from './answer-fields.ts'
import type { Usage } from './provider.ts'

const json = z.record(z.string(), z.unknown())
const tokens = z.number().nullish()
const UsageWire = z.looseObject({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: tokens,
  prompt_tokens_details: z.looseObject({ cached_tokens: tokens }).nullish(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: tokens }).nullish(),
  prompt_cache_hit_tokens: tokens,
  cached_tokens: tokens,
})
export const Fragment = z.looseObject({
  index: z.number().nullish(),
  id: z.string().nullish(),
  function: z
    .looseObject({ name: z.string().nullish(), arguments: z.union([z.string(), json]).nullish() })
    .nullish(),
})
const Part = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  thinking: z.union([z.string(), z.array(z.looseObject({ text: z.string().nullish() }))]).nullish(),
})
export const Delta = z.looseObject({
  content: z.union([z.string(), z.array(Part)]).nullish(),
  refusal: z.string().nullish(),
  tool_calls: z.array(Fragment).nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  reasoning_details: z.array(json).nullish(),
  extra_content: json.nullish().catch(undefined),
})
const Choice = z.looseObject({
  index: z.number().nullish(),
  delta: Delta.nullish(),
  message: Delta.nullish(),
  finish_reason: z.string().nullish(),
  usage: UsageWire.nullish(),
})
export const Chunk = z.looseObject({
  model: z.string().nullish(),
  choices: z.array(Choice).nullish(),
  usage: UsageWire.nullish(),
  x_groq: z.looseObject({ usage: UsageWire.nullish() }).nullish(),
})

export function readUsage(wire: z.infer<typeof UsageWire>): Usage {
  const input = tokenCount(wire.prompt_tokens)
  const output = tokenCount(wire.completion_tokens)
  const thought = tokenCount(wire.completion_tokens_details?.reasoning_tokens)
  // Some servers exclude reasoning from completion_tokens; the total reveals it.
  const uncounted = wire.total_tokens === input + output + thought ? thought : 0
  return {
    input_tokens: input,
    output_tokens: output + uncounted,
    reasoning_tokens: thought,
    cache_read_tokens: tokenCount(
      wire.prompt_tokens_details?.cached_tokens ?? wire.prompt_cache_hit_tokens ?? wire.cached_tokens,
    ),
  }
}
