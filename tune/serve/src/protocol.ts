/**
 * Bodies of the routes, in the formats of the OpenAI API and vLLM. Unlisted keys are rejected earlier
 * (parameters/check.ts).
 */
import { z } from 'zod'

const isId = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
const isIds = (value: unknown): boolean => Array.isArray(value) && value.every(isId)
const isText = (value: unknown): boolean => typeof value === 'string'
const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0
/** A hand-written check for lists of a million numbers takes a hundredth of the time. */
const tokenIds = z.custom<number[]>(isIds, 'Invalid input: expected a list of token ids')
const ids = z.custom<number[]>(
  value => isFilled(value) && isIds(value),
  'Invalid input: expected a list of token ids with at least one',
)
/** Maximum list lengths. Each element costs time for every token, or once for every prompt. */
export const LIST_LIMITS = {
  prompts: 2048,
  /** Prompts times n. */
  choices: 2048,
  stops: 64,
  stopCharacters: 1024,
  tokens: 1024,
  words: 256,
} as const
const flag = z.boolean().nullish()
/** A plain union only reports that the value is wrong. */
const oneOf = <const O extends readonly z.ZodType[]>(options: O, expected: string) =>
  z.union(options, { error: `Invalid input: expected ${expected}` })
const stopText = z.string().max(LIST_LIMITS.stopCharacters)
const stop = oneOf(
  [stopText, z.array(stopText).max(LIST_LIMITS.stops)],
  `a string or a list of strings: at most ${LIST_LIMITS.stops}, each of at most ` +
    `${LIST_LIMITS.stopCharacters} characters`,
).nullish()

/** Keys for sampling and stopping, shared by both endpoints. */
const sampling = {
  temperature: z.number().min(0).max(100).nullish(),
  top_p: z.number().positive().max(1).nullish(),
  top_k: z.int().min(-1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  /** 64 bits in vLLM. Beyond JavaScript's exact range, the nearest number. */
  seed: z.number().refine(Number.isInteger, 'Invalid input: expected a whole number').nullish(),
  stop,
  stop_token_ids: z.array(z.int().nonnegative()).max(LIST_LIMITS.tokens).nullish(),
  ignore_eos: flag,
  min_tokens: z.int().nonnegative().nullish(),
  include_stop_str_in_output: flag,
  skip_special_tokens: flag,
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  repetition_penalty: z.number().positive().nullish(),
  logit_bias: z
    .record(z.string().regex(/^\d+$/), z.number().min(-100).max(100))
    .refine(bias => Object.keys(bias).length <= LIST_LIMITS.tokens, {
      error: `Too big: expected at most ${LIST_LIMITS.tokens} tokens`,
    })
    .nullish(),
  n: z.int().min(1).max(128).nullish(),
  stream: flag,
  /** Adds the ids of prompt and answer to each choice. */
  return_token_ids: flag,
  stream_options: z.looseObject({ include_usage: flag, continuous_usage_stats: flag }).nullish(),
  allowed_token_ids: ids.nullish(),
  bad_words: z.array(z.string().min(1).max(LIST_LIMITS.stopCharacters)).max(LIST_LIMITS.words).nullish(),
  truncate_prompt_tokens: z.int().min(-1).nullish(),
  add_special_tokens: flag,
  return_tokens_as_token_ids: flag,
  response_format: z
    .looseObject({
      type: z.enum(['text', 'json_object', 'json_schema']),
      json_schema: z.looseObject({ name: z.string().optional(), schema: z.unknown().optional() }).nullish(),
    })
    .nullish(),
  structured_outputs: z
    .looseObject({
      json: z.unknown().optional(),
      regex: z.string().nullish(),
      choice: z.array(z.string()).min(1).nullish(),
      grammar: z.string().nullish(),
      json_object: flag,
    })
    .nullish(),
}

export const completionRequest = z.looseObject({
  ...sampling,
  model: z.string().nullish(),
  prompt: oneOf(
    [
      z.string(),
      z.custom<string[]>(value => isFilled(value) && (value as unknown[]).every(isText)),
      ids,
      z.custom<number[][]>(
        value => isFilled(value) && (value as unknown[]).every(one => isFilled(one) && isIds(one)),
      ),
    ],
    'a string, token ids, or a list of either with at least one',
  ),
  max_tokens: z.int().nonnegative().nullish(),
  logprobs: z.int().nonnegative().nullish(),
  echo: flag,
})

const contentPart = z.looseObject({ type: z.string(), text: z.string().optional() })
const toolCall = z.looseObject({
  id: z.string().optional(),
  type: z.literal('function').optional(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
})
const message = z.looseObject({
  role: z.string(),
  content: oneOf([z.string(), z.array(contentPart)], 'a string or a list of parts with a type').nullish(),
  tool_calls: z.array(toolCall).nullish(),
  tool_call_id: z.string().nullish(),
  name: z.string().nullish(),
})
const tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
})

export const chatRequest = z.looseObject({
  ...sampling,
  model: z.string().nullish(),
  messages: z.array(message).min(1),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  logprobs: flag,
  top_logprobs: z.int().nonnegative().nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: oneOf(
    [
      z.enum(['none', 'auto', 'required']),
      z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) }),
    ],
    '"none", "auto", "required", or {"type": "function", "function": {"name": …}}',
  ).nullish(),
  parallel_tool_calls: flag,
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
  add_generation_prompt: flag,
  continue_final_message: flag,
})

export const tokenizeRequest = z.looseObject({
  model: z.string().nullish(),
  prompt: z.string().nullish(),
  messages: z.array(message).min(1).nullish(),
  tools: z.array(tool).nullish(),
  add_special_tokens: flag,
  add_generation_prompt: flag,
  continue_final_message: flag,
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
  return_token_strs: flag,
})
export const detokenizeRequest = z.looseObject({
  model: z.string().nullish(),
  tokens: tokenIds,
})

/** Names appear in lists, messages and log lines. */
const adapterName = z.string().max(256).nullish()
export const loadAdapterRequest = z.looseObject({
  lora_name: adapterName,
  lora_path: z.string().max(4096).nullish(),
})
export const unloadAdapterRequest = z.looseObject({ lora_name: adapterName })

export type SamplingRequest = z.infer<z.ZodObject<typeof sampling>>
export type CompletionRequest = z.infer<typeof completionRequest>
export type ChatRequest = z.infer<typeof chatRequest>
export type TokenizeRequest = z.infer<typeof tokenizeRequest>
export type RequestMessage = z.infer<typeof message>

export type FinishReason = 'stop' | 'length' | 'tool_calls'
export type Usage = {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details: { cached_tokens: number }
}

export type CompletionLogprobs = {
  text_offset: number[]
  token_logprobs: (number | null)[]
  tokens: string[]
  top_logprobs: (Record<string, number> | null)[]
}
export type CompletionChoice = {
  index: number
  text: string
  logprobs: CompletionLogprobs | null
  finish_reason: FinishReason | null
  stop_reason: string | number | null
  token_ids?: number[]
  prompt_token_ids?: readonly number[]
}
export type Completion = {
  id: string
  object: 'text_completion'
  created: number
  model: string
  choices: CompletionChoice[]
  usage?: Usage | null
}

export type TokenLogprob = { token: string; logprob: number; bytes: number[] }
export type ChatLogprobs = { content: (TokenLogprob & { top_logprobs: TokenLogprob[] })[] }
export type ToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } }
export type ToolCallDelta = {
  index: number
  id?: string
  type?: 'function'
  function: { name?: string; arguments?: string }
}
export type ChatMessageReply = {
  role: 'assistant'
  content: string | null
  reasoning_content?: string
  tool_calls?: ToolCall[]
}
export type ChatDelta = {
  role?: 'assistant'
  content?: string
  reasoning_content?: string
  tool_calls?: ToolCallDelta[]
}
type ChatEnd = {
  logprobs: ChatLogprobs | null
  finish_reason: FinishReason | null
  stop_reason: string | number | null
}
export type ChatCompletion = {
  id: string
  object: 'chat.completion'
  created: number
  model: string
  choices: ({ index: number; message: ChatMessageReply; token_ids?: number[] } & ChatEnd)[]
  usage: Usage
  prompt_token_ids?: readonly number[]
}
export type ChatChunk = {
  id: string
  object: 'chat.completion.chunk'
  created: number
  model: string
  choices: ({ index: number; delta: ChatDelta; token_ids?: number[] } & ChatEnd)[]
  usage?: Usage | null
  prompt_token_ids?: readonly number[]
}

export type ModelCard = {
  id: string
  object: 'model'
  created: number
  owned_by: string
  root: string
  parent: string | null
  max_model_len: number | null
}
