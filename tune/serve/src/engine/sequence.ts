/**
 * One sequence that is being generated: its tokens, how many of them are cached, and its listener.
 */
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
  /** Tokens that end the sequence and are no part of its text. */
  endTokens: readonly number[]
  presencePenalty: number
  frequencyPenalty: number
  repetitionPenalty: number
  logitBias: ReadonlyMap<number, number>
  /** Tokens that may be drawn, a bit for each; undefined where all may. */
  allowed: Int32Array | undefined
  /** Runs of tokens of which the last is not drawn after the others. */
  badWords: readonly (readonly number[])[]
  /** Most likely tokens to report beside each one; undefined reports no log-probabilities. */
  logprobs: number | undefined
  /** Whether log-probabilities of the prompt are wanted too. */
  promptLogprobs: boolean
}

export type TokenReport = {
  token: number
  logprob: number
  top: readonly (readonly [token: number, logprob: number])[]
}
export type EndReason = 'stop' | 'length' | 'abort'

export type Listener = {
  /** Prompt tokens from the second on, in order, where they were asked for. */
  onPrompt?: (reports: readonly TokenReport[]) => void
  /** A new token; true ends the sequence here. */
  onToken: (report: TokenReport) => boolean
  /** Called once. `token` is the end token that stopped it, if one did. */
  onEnd: (end: { reason: EndReason; token?: number; error?: Error; cachedTokens: number }) => void
}

export type Sequence = {
  readonly promptLength: number
  readonly adapter: LoadedAdapter | undefined
  readonly sampling: Sampling
  readonly listener: Listener
  /** What the answer has to be; undefined where it is free. */
  readonly form: FormMatcher | undefined
  /** Prompt and what was generated. */
  readonly ids: number[]
  /** Tokens whose keys and values are in the cache. */
  computed: number
  readonly blocks: number[]
  /** What the full blocks are known by; shorter than `blocks` by the last one while that fills. */
  readonly prefixes: PrefixId[]
  /** Prompt tokens that were found in the cache when the sequence first ran. */
  cachedTokens: number | undefined
  /** Prompt reports so far. */
  readonly prompt: TokenReport[]
  /** Whether it has its last token; its listener may not know yet. */
  isComplete: boolean
  /** Whether its listener was told how it ended. */
  isEnded: boolean
  readonly clock: ReturnType<Latencies['begin']>
}

/** Moves the form of a sequence on by a token; what is wrong where it has none that goes on. */
export function advanceForm({ form }: Pick<Sequence, 'form'>, token: number): GrammarError | undefined {
  try {
    form?.accept(token)
    return undefined
  } catch (error) {
    if (error instanceof GrammarError) return error
    throw error
  }
}

/** Generated tokens and how often each came. */
function countGenerated({ ids, promptLength }: Pick<Sequence, 'ids' | 'promptLength'>): Map<number, number> {
  const counts = new Map<number, number>()
  for (let i = promptLength; i < ids.length; i++) counts.set(ids[i] ?? 0, (counts.get(ids[i] ?? 0) ?? 0) + 1)
  return counts
}

export type LogitEdit = { token: number; factor: number; add: number }

const NO_EDITS: readonly LogitEdit[] = []
/** Far enough below every logit that the token is never drawn, and still finite. */
const NEVER = -1e30
/** What penalties, biases and a least length change about a sequence's next logits. */
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

/** Whether what was generated ends with all of a word but its last token. */
function endsWith(ids: readonly number[], promptLength: number, word: readonly number[]): boolean {
  const start = ids.length - (word.length - 1)
  return start >= promptLength && word.slice(0, -1).every((token, i) => ids[start + i] === token)
}
