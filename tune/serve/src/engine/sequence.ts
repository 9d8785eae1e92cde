/** One sequence in generation: its tokens, how many of them are cached, and its listener. */
import { GrammarError } from '../grammar/expression.ts'
import type { FormMatcher } from '../grammar/forms.ts'
import type { LoadedAdapter } from './adapters.ts'
import type { PrefixId } from './kv-blocks.ts'
import type { Latencies } from './latencies.ts'

export type Sampling = {
  temperature: number
  topP: number
  topK: number
  minP: number
  /** 64 bits, as two words. */
  seed: readonly [low: number, high: number]
  maxTokens: number
  minTokens: number
  /** Tokens that end the sequence and do not belong to its text. */
  endTokens: readonly number[]
  presencePenalty: number
  frequencyPenalty: number
  repetitionPenalty: number
  logitBias: ReadonlyMap<number, number>
  /** Tokens that may be drawn, one bit each. Undefined allows all. */
  allowed: Int32Array | undefined
  /** Token sequences. The last token of each is not drawn after the others. */
  badWords: readonly (readonly number[])[]
  /** Number of most likely tokens to report beside each one. Undefined reports no log-probabilities. */
  logprobs: number | undefined
  /** Whether log-probabilities of the prompt are requested too. */
  promptLogprobs: boolean
}

export type TokenReport = {
  token: number
  logprob: number
  top: readonly (readonly [token: number, logprob: number])[]
}
export type EndReason = 'stop' | 'length' | 'abort'

export type Listener = {
  /** Prompt tokens from the second on, in order, if requested. */
  onPrompt?: (reports: readonly TokenReport[]) => void
  /** Called for each new token. Returning true ends the sequence. */
  onToken: (report: TokenReport) => boolean
  /** Called once. `token` is the end token that stopped it, if any. */
  onEnd: (end: { reason: EndReason; token?: number; error?: Error; cachedTokens: number }) => void
}

export type Sequence = {
  readonly promptLength: number
  readonly adapter: LoadedAdapter | undefined
  readonly sampling: Sampling
  readonly listener: Listener
  /** The required form of the answer. Undefined allows any text. */
  readonly form: FormMatcher | undefined
  /** Tokens of the prompt and generated ones. */
  readonly ids: number[]
  /** Tokens whose keys and values are in the cache. */
  computed: number
  readonly blocks: number[]
  /** Prefix ids of the full blocks. One shorter than `blocks` while the last block fills. */
  readonly prefixes: PrefixId[]
  /** Prompt tokens that were found in the cache when the sequence first ran. */
  cachedTokens: number | undefined
  /** Prompt reports so far. */
  readonly prompt: TokenReport[]
  /** Whether its last token was generated. The listener may not have been notified yet. */
  isComplete: boolean
  /** Whether its listener was notified of the end. */
  isEnded: boolean
  readonly clock: ReturnType<Latencies['begin']>
}

/**
 * Advances the form of a sequence by a token. Returns an error if no text of that form continues this way.
 */
export function advanceForm({ form }: Pick<Sequence, 'form'>, token: number): GrammarError | undefined {
  try {
    form?.accept(token)
    return undefined
  } catch (error) {
    if (error instanceof GrammarError) return error
    throw error
  }
}

/** Generated tokens with their counts. */
function countGenerated({ ids, promptLength }: Pick<Sequence, 'ids' | 'promptLength'>): Map<number, number> {
  const counts = new Map<number, number>()
  for (let i = promptLength; i < ids.length; i++) counts.set(ids[i] ?? 0, (counts.get(ids[i] ?? 0) ?? 0) + 1)
  return counts
}

export type LogitEdit = { token: number; factor: number; add: number }

const NO_EDITS: readonly LogitEdit[] = []
/** Far enough below every logit that the token is never drawn, and still finite. */
const NEVER = -1e30
/** Changes of a sequence's next logits by penalties, biases and a minimum length. */
export function editsOf(sequence: Sequence): readonly LogitEdit[] {
  const { sampling, ids, promptLength } = sequence
  const { repetitionPenalty, presencePenalty, frequencyPenalty, logitBias, minTokens } = sampling
  const { badWords } = sampling
  if (
    repetitionPenalty === 1 &&
    presencePenalty === 0 &&
    frequencyPenalty === 0 &&
    logitBias.size === 0 &&
    minTokens === 0 &&
    badWords.length === 0
  )
    return NO_EDITS
  const edits = new Map<number, LogitEdit>()
  const change = (token: number, factor: number, add: number) => {
    const known = edits.get(token)
    edits.set(token, { token, factor: factor * (known?.factor ?? 1), add: add + (known?.add ?? 0) })
  }
  if (repetitionPenalty !== 1) for (const token of new Set(ids)) change(token, repetitionPenalty, 0)
  if (presencePenalty !== 0 || frequencyPenalty !== 0) {
    for (const [token, count] of countGenerated(sequence))
      change(token, 1, -presencePenalty - frequencyPenalty * count)
  }
  for (const [token, bias] of logitBias) change(token, 1, bias)
  if (ids.length - promptLength < minTokens) for (const token of sampling.endTokens) change(token, 1, NEVER)
  for (const word of badWords) {
    const [last] = word.slice(-1)
    if (last !== undefined && endsWith(ids, promptLength, word)) change(last, 1, NEVER)
  }
  return [...edits.values()]
}

/** Whether the generated tokens end with all of a word except its last token. */
function endsWith(ids: readonly number[], promptLength: number, word: readonly number[]): boolean {
  const start = ids.length - (word.length - 1)
  return start >= promptLength && word.slice(0, -1).every((token, i) => ids[start + i] === token)
}
