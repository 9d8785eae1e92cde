/** From what a request says about sampling to what the engine does. */
import { randomBytes } from 'node:crypto'
import { badRequest } from './errors.ts'
import type { SamplingRequest } from './protocol.ts'
import type { Sampling } from './engine/sequence.ts'
import { MOST_LOGPROBS } from './engine/step-programs.ts'
import type { ServedModel } from './served-model.ts'

export type SamplingContext = {
  model: Pick<ServedModel, 'defaults' | 'endTokens' | 'maxModelLen' | 'vocabSize'>
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

/** What would hold an answer to a form; leaving it unread would give whoever asks for JSON some prose. */
const FORMS = [
  'structured_outputs',
  'guided_json',
  'guided_regex',
  'guided_choice',
  'guided_grammar',
] as const

/** Throws for what no request may ask of this server. */
export function checkRequest(
  request: SamplingRequest & Partial<Record<(typeof FORMS)[number], unknown>>,
): void {
  const { response_format: format, stream, stream_options } = request
  if (format && format.type !== 'text')
    throw badRequest(
      `response_format of type ${JSON.stringify(format.type)} is not supported: answers are held to no ` +
        'schema or grammar. Ask for the form in the prompt, or offer a tool.',
      'response_format',
    )
  const form = FORMS.find(name => request[name] !== undefined && request[name] !== null)
  if (form) throw badRequest(`${form} is not supported: answers are held to no schema or grammar.`, form)
  if (stream_options && !stream)
    throw badRequest('Stream options can only be defined when `stream=True`.', 'stream_options')
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
    logprobs,
    promptLogprobs,
  }
}
