/** Converts a request's sampling parameters to the engine's. */
import { randomBytes } from 'node:crypto'
import type { Sampling } from './engine/sequence.ts'
import { badRequest } from './errors.ts'
import { checkParameters } from './parameters/check.ts'
import type { SamplingRequest } from './protocol.ts'
import { MAX_LOGPROBS } from './engine/step-programs.ts'
import type { ServedModel } from './served-model.ts'
import type { Texts } from './texts.ts'

export type SamplingContext = {
  model: Pick<ServedModel, 'defaults' | 'endTokens' | 'maxModelLen'>
  edits: RequestEdits
  promptLength: number
  /** Requested maximum. Defaults to the rest of the model's length. */
  maxTokens: number | undefined
  logprobs: number | undefined
  promptLogprobs: boolean
  /** Index of this choice among those of the prompt. Each draws from its own random stream. */
  choice: number
}

/** The two words of a seed: of the given number, or random. */
function seedWords(seed: number | null | undefined, choice: number): readonly [number, number] {
  if (seed !== null && seed !== undefined)
    return [seed >>> 0, ((Math.floor(seed / 2 ** 32) >>> 0) ^ choice) >>> 0]
  const bytes = randomBytes(8)
  return [bytes.readUInt32LE(0), bytes.readUInt32LE(4)]
}

/** Throws for parameters that this server never accepts. */
export function checkRequest(route: string, request: SamplingRequest & Record<string, unknown>): void {
  checkParameters(route, request)
  const { stream, stream_options } = request
  if (stream_options && !stream)
    throw badRequest('Stream options can only be defined when `stream=True`.', 'stream_options')
  if (stream_options?.['include_obfuscation'] === true)
    throw badRequest(
      'stream_options.include_obfuscation is not supported: chunks are not padded.',
      'stream_options',
    )
}

/** The prompt, or its last tokens as `truncate_prompt_tokens` says. */
export function truncatePrompt(
  ids: readonly number[],
  { truncate_prompt_tokens: maxTokens }: Pick<SamplingRequest, 'truncate_prompt_tokens'>,
  model: Pick<ServedModel, 'maxModelLen'>,
): readonly number[] {
  if (maxTokens === null || maxTokens === undefined) return ids
  if (maxTokens === 0)
    throw badRequest('truncate_prompt_tokens must be -1 or at least 1', 'truncate_prompt_tokens')
  return ids.slice(-(maxTokens === -1 ? model.maxModelLen - 1 : maxTokens))
}

/** The name of a token beside its log-probability. */
export const tokenName = (
  { tokenizer }: Pick<ServedModel, 'tokenizer'>,
  { return_tokens_as_token_ids: asIds }: Pick<SamplingRequest, 'return_tokens_as_token_ids'>,
): ((token: number) => string) => {
  if (asIds) return token => `token_id:${token}`
  const names = new Map<number, string>()
  return token => {
    const name = names.get(token) ?? tokenizer.decode([token])
    names.set(token, name)
    return name
  }
}

/** The tokens that may be drawn, one bit each. Undefined allows all. */
function allowedBy(allowed: readonly number[] | null | undefined, vocabSize: number): Int32Array | undefined {
  if (!allowed) return undefined
  const mask = new Int32Array(Math.ceil(vocabSize / 32))
  for (const token of allowed) {
    if (token >= vocabSize)
      throw badRequest(
        `allowed_token_ids contains token ${token}; the vocabulary has ${vocabSize}`,
        'allowed_token_ids',
      )
    mask[token >> 5] = (mask[token >> 5] ?? 0) | (1 << (token & 31))
  }
  return mask
}

/** Tokens of each text at the start of an answer and, if they differ, after a space, as in vLLM. */
async function badWordsOf(
  words: readonly string[] | null | undefined,
  { encode }: Pick<Texts, 'encode'>,
): Promise<(readonly number[])[]> {
  const found: (readonly number[])[] = []
  for (const word of words ?? []) {
    const plain = await encode(word.trimStart(), { isDocument: false })
    const spaced = await encode(` ${word.trimStart()}`, { isDocument: false })
    const isOther = spaced[0] !== plain[0] && spaced.length === plain.length
    found.push(...[plain, ...(isOther ? [spaced] : [])].filter(ids => ids.length > 0))
  }
  return found
}

/** Changes of the logits for all choices of a request. */
export type RequestEdits = Pick<Sampling, 'logitBias' | 'allowed' | 'badWords'>

export async function editsFrom(
  request: SamplingRequest,
  { vocabSize, texts }: Pick<ServedModel, 'vocabSize' | 'texts'>,
): Promise<RequestEdits> {
  const logitBias = new Map(
    Object.entries(request.logit_bias ?? {}).map(([token, add]) => [Number(token), add]),
  )
  for (const token of logitBias.keys())
    if (token >= vocabSize)
      throw badRequest(`logit_bias contains token ${token}; the vocabulary has ${vocabSize}`, 'logit_bias')
  return {
    logitBias,
    allowed: allowedBy(request.allowed_token_ids, vocabSize),
    badWords: await badWordsOf(request.bad_words, texts),
  }
}

export function stopsOf({ stop }: Pick<SamplingRequest, 'stop'>): string[] {
  return [stop ?? []].flat().filter(text => text !== '')
}

/** Throws if the prompt plus one token exceeds the model's length. */
export function toSampling(
  request: SamplingRequest,
  { model, edits, promptLength, maxTokens, logprobs, promptLogprobs, choice }: SamplingContext,
): Sampling {
  const { defaults, maxModelLen } = model
  const remaining = maxModelLen - promptLength
  const asked = maxTokens ?? remaining
  if (promptLength === 0) throw badRequest('The prompt has no tokens.', 'prompt')
  if (
    asked > remaining ||
    (asked > 0 && remaining < 1) ||
    remaining < 0 ||
    (maxTokens === undefined && remaining < 1)
  ) {
    const answer =
      maxTokens === undefined ? 'and at least 1 for the completion' : `and ${asked} in the completion`
    throw badRequest(
      `This model's maximum context length is ${maxModelLen} tokens. However, you requested ` +
        `${promptLength + Math.max(asked, 1)} tokens (${promptLength} in the messages, ${answer}). ` +
        'Please reduce the length of the messages or completion.',
    )
  }
  if (logprobs !== undefined && logprobs > MAX_LOGPROBS)
    throw badRequest(
      `Requested sample logprobs of ${logprobs}, which is greater than max allowed: ${MAX_LOGPROBS}`,
      'logprobs',
    )
  return {
    temperature: request.temperature ?? defaults.temperature,
    topP: request.top_p ?? defaults.top_p,
    topK: Math.max(0, request.top_k ?? defaults.top_k),
    minP: request.min_p ?? defaults.min_p,
    seed: seedWords(request.seed, choice),
    maxTokens: asked,
    minTokens: Math.min(request.min_tokens ?? 0, asked),
    endTokens: [...(request.ignore_eos ? [] : model.endTokens), ...(request.stop_token_ids ?? [])],
    presencePenalty: request.presence_penalty ?? 0,
    frequencyPenalty: request.frequency_penalty ?? 0,
    repetitionPenalty: request.repetition_penalty ?? defaults.repetition_penalty,
    ...edits,
    logprobs,
    promptLogprobs,
  }
}
