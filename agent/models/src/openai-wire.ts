/** Chunks of OpenAI's chat-completion stream as servers send them, with their deviations. */
import { z } from 'zod'
import { lenientNumber as number, tokenCount } from './answer-fields.ts'
import type { Usage } from './provider.ts'

const json = z.record(z.string(), z.unknown())
/** Fields beside the content are ignored if they have another type. */
const word = z.string().nullish().catch(null)
const UsageWire = z.looseObject({
  prompt_tokens: number,
  completion_tokens: number,
  total_tokens: number,
  prompt_tokens_details: z.looseObject({ cached_tokens: number }).nullish().catch(null),
  completion_tokens_details: z.looseObject({ reasoning_tokens: number }).nullish().catch(null),
  prompt_cache_hit_tokens: number,
  cached_tokens: number,
})
const usage = UsageWire.nullish().catch(null)
export const Fragment = z.looseObject({
  index: number,
  id: z
    .union([z.string(), z.number().transform(String)])
    .nullish()
    .catch(null),
  function: z.looseObject({ name: z.string().nullish(), arguments: z.unknown().optional() }).nullish(),
})
const Part = z.looseObject({
  text: z.string().nullish(),
  thinking: z.union([z.string(), z.array(z.looseObject({ text: z.string().nullish() }))]).nullish(),
})
export const Delta = z.looseObject({
  content: z.union([z.string(), z.array(Part)]).nullish(),
  refusal: word,
  tool_calls: z.union([z.array(Fragment), Fragment.transform(one => [one])]).nullish(),
  reasoning_content: word,
  reasoning: word,
  reasoning_details: z.array(json).nullish().catch(null),
  extra_content: json.nullish().catch(null),
})
const Choice = z.looseObject({
  index: number,
  delta: Delta.nullish(),
  message: Delta.nullish(),
  finish_reason: word,
  usage,
})
export const Chunk = z.looseObject({
  model: word,
  choices: z.array(Choice).nullish(),
  usage,
  x_groq: z.looseObject({ usage }).nullish().catch(null),
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
