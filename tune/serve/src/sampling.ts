/** From a request's sampling parameters to the engine's. */
import { randomBytes } from 'node:crypto'
import { forbid, type Edit, type Sampling } from './engine/sequence.ts'
import { badRequest } from './errors.ts'
import { checkParameters } from './parameters/check.ts'
import type { SamplingRequest } from './protocol.ts'
import { MOST_LOGPROBS } from './engine/step-programs.ts'
import type { ServedModel } from './served-model.ts'

export type SamplingContext = {
  model: Pick<ServedModel, 'defaults' | 'endTokens' | 'maxModelLen' | 'tokenizer' | 'vocabSize'>
  promptLength: number
  /** Tokens asked for; what is left of the model's length where nothing is said. */
  maxTokens: number | undefined
  logprobs: number | undefined
  promptLogprobs: boolean
  /** Which of the choices of one prompt this is; each draws from a stream of its own. */
  choice: number
}

/** Two words of a seed: those of the number given, or of the system's randomness. */
function seedWords(seed: number | null | undefined, choice: number): readonly [number, number] {
  if (seed !== null && seed !== undefined)
    return [seed >>> 0, ((Math.floor(seed / 2 ** 32) >>> 0) ^ choice) >>> 0]
  const bytes = randomBytes(8)
  return [bytes.readUInt32LE(0), bytes.readUInt32LE(4)]
}

/** Throws for what no request may ask of this server. */
export function checkRequest(route: string, request: SamplingRequest & Record<string, unknown>): void {
  checkParameters(route, request)
  const { stream, stream_options } = request
  if (stream_options && !stream)
    throw badRequest('Stream options can only be defined when `stream=True`.', 'stream_options')
  if (stream_options?.['include_obfuscation'] === true)
    throw badRequest(
      'stream_options.include_obfuscation is not supported: chunks are as long as they are.',
      'stream_options',
    )
}

/** The prompt, or the end of it that `truncate_prompt_tokens` leaves. */
export function truncatePrompt(
  ids: readonly number[],
  { truncate_prompt_tokens: most }: Pick<SamplingRequest, 'truncate_prompt_tokens'>,
  model: Pick<ServedModel, 'maxModelLen'>,
): readonly number[] {
  if (most === null || most === undefined) return ids
  if (most === 0)
    throw badRequest('truncate_prompt_tokens must be -1 or at least 1', 'truncate_prompt_tokens')
  return ids.slice(-(most === -1 ? model.maxModelLen - 1 : most))
}

/** How a token is named beside its log-probability. */
export const tokenName = (
  { tokenizer }: Pick<ServedModel, 'tokenizer'>,
  { return_tokens_as_token_ids: asIds }: Pick<SamplingRequest, 'return_tokens_as_token_ids'>,
): ((token: number) => string) => (asIds ? token => `token_id:${token}` : token => tokenizer.decode([token]))

function forbiddenBy(allowed: readonly number[] | null | undefined, vocabSize: number): Edit[] {
  if (!allowed) return []
  const stranger = allowed.find(token => token >= vocabSize)
  if (stranger !== undefined)
    throw badRequest(
      `allowed_token_ids names token ${stranger}; the vocabulary has ${vocabSize}`,
      'allowed_token_ids',
    )
  const open = new Set(allowed)
  return Array.from({ length: vocabSize }, (_, token) => token)
    .filter(token => !open.has(token))
    .map(forbid)
}

/**
 * Tokens of each text, at the start of an answer and after a space, where that is another token: as vLLM
 * finds them.
 */
function badWordsOf(
  words: readonly string[] | null | undefined,
  encode: ServedModel['tokenizer']['encode'],
): readonly number[][] {
  return (words ?? []).flatMap(word => {
    const [plain, spaced] = [encode(word.trimStart()), encode(` ${word.trimStart()}`)]
    const isOther = spaced[0] !== plain[0] && spaced.length === plain.length
    return [plain, ...(isOther ? [spaced] : [])].filter(ids => ids.length > 0)
  })
}

export function stopsOf({ stop }: Pick<SamplingRequest, 'stop'>): string[] {
  return [stop ?? []].flat().filter(text => text !== '')
}

/** Throws where the prompt, with at least one token after it, is longer than the model. */
export function toSampling(
  request: SamplingRequest,
  { model, promptLength, maxTokens, logprobs, promptLogprobs, choice }: SamplingContext,
): Sampling {
  const { defaults, maxModelLen, vocabSize } = model
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
  if (logprobs !== undefined && logprobs > MOST_LOGPROBS)
    throw badRequest(
      `Requested sample logprobs of ${logprobs}, which is greater than max allowed: ${MOST_LOGPROBS}`,
      'logprobs',
    )
  const bias = new Map(Object.entries(request.logit_bias ?? {}).map(([token, add]) => [Number(token), add]))
  for (const token of bias.keys())
    if (token >= vocabSize)
      throw badRequest(`logit_bias names token ${token}; the vocabulary has ${vocabSize}`, 'logit_bias')
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
    logitBias: bias,
    forbidden: forbiddenBy(request.allowed_token_ids, vocabSize),
    badWords: badWordsOf(request.bad_words, model.tokenizer.encode),
    logprobs,
    promptLogprobs,
  }
}
