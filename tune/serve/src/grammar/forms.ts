/**
 * Forms of answers over a vocabulary: which tokens may come next. Grammars and the masks of their states are
 * cached, so requests for the same form share them.
 */
import { checkSource, withBudget } from './budget.ts'
import { GrammarError } from './expression.ts'
import { createMachine, type Machine, type State } from './machine.ts'
import { grammarOf, type FormSource } from './sources.ts'
import { createTokenTrie, createTokenTrieInSlices, type TokenTrie } from './token-trie.ts'

/** Follows one answer. */
export type FormMatcher = {
  /** One bit per token: whether it may come next. End tokens may when the answer is complete. */
  mask(): Int32Array
  accept(token: number): void
}
export type Form = { begin(): FormMatcher }

export type Forms = {
  /**
   * Builds the index of the vocabulary, which takes a second for a large one, while yielding to other work.
   */
  ready(): Promise<void>
  /** Throws a GrammarError for an unsupported source. */
  of(source: FormSource): Form
}

/** Maximum number of cached forms. The least recently used is evicted. */
const MAX_FORMS = 32
/** Maximum bytes of cached masks. */
const MAX_MASK_BYTES = 64 * 2 ** 20

function allow(mask: Int32Array, token: number): void {
  mask[token >> 5] = (mask[token >> 5] ?? 0) | (1 << (token & 31))
}

export function createForms(
  bytesOf: (token: number) => Uint8Array | undefined,
  vocabSize: number,
  endTokens: readonly number[],
): Forms {
  let trie: TokenTrie | undefined
  let layout: Promise<TokenTrie> | undefined
  const forms = new Map<string, Form>()
  let masks = new Map<State, Int32Array>()

  const tokens = () => (trie ??= createTokenTrie(vocabSize, bytesOf))

  function maskOf(machine: Machine, state: State): Int32Array {
    const near = machine.within(state, tokens().maxTokenBytes)
    const known = masks.get(near)
    if (known) return known
    const mask = tokens().allowed(machine, near)
    // If no token can follow, one is drawn anyway, and `accept` rejects it.
    if (state.accepts || mask.every(word => word === 0)) for (const token of endTokens) allow(mask, token)
    if (masks.size * mask.byteLength > MAX_MASK_BYTES) masks = new Map()
    masks.set(near, mask)
    return mask
  }

  function makeForm(machine: Machine): Form {
    return {
      begin() {
        let state = machine.start
        let failed: GrammarError | undefined
        return {
          mask() {
            try {
              return withBudget(() => maskOf(machine, state))
            } catch (error) {
              if (!(error instanceof GrammarError)) throw error
              // Other sequences are in the same step, so any token is drawn, and `accept` ends only this
              // answer.
              failed = error
              return new Int32Array(Math.ceil(vocabSize / 32)).fill(-1)
            }
          },
          accept(token) {
            if (failed) throw failed
            if (endTokens.includes(token)) {
              if (!state.accepts) throw new GrammarError('no token of the vocabulary continues this format')
              return
            }
            for (const byte of tokens().bytesOf(token) ?? []) {
              const next = machine.step(state, byte)
              if (!next)
                throw new GrammarError(`token ${token} was sampled, but the format does not allow it`)
              state = next
            }
          },
        }
      },
    }
  }

  return {
    async ready() {
      layout ??= createTokenTrieInSlices(vocabSize, bytesOf)
      trie ??= await layout
    },
    of(source) {
      // Built here, so that no step waits for it.
      tokens()
      checkSource(source)
      return withBudget(() => find(source))
    },
  }

  function find(source: FormSource): Form {
    const key = JSON.stringify(source)
    const form = forms.get(key) ?? makeForm(createMachine(grammarOf(source)))
    forms.delete(key)
    forms.set(key, form)
    const [oldest] = forms.keys()
    if (forms.size > MAX_FORMS && oldest !== undefined) forms.delete(oldest)
    return form
  }
}
