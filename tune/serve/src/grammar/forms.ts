/**
 * Forms of answers over a vocabulary: which tokens may come next. Grammars and the masks of their states are
 * kept, so requests that ask for the same form share them.
 */
import { checkSource, withBudget } from './budget.ts'
import { GrammarError } from './expression.ts'
import { createMachine, type Machine, type State } from './machine.ts'
import { grammarOf, type FormSource } from './sources.ts'
import { createTokenTrie, createTokenTrieInSlices, type TokenTrie } from './token-trie.ts'

/** Follows one answer. */
export type FormMatcher = {
  /** A bit for each token: whether it may come next. End tokens may where the answer is whole. */
  mask(): Int32Array
  accept(token: number): void
}
export type Form = { begin(): FormMatcher }

export type Forms = {
  /** Lays out the vocabulary, which takes a second of a large one, in turns with other work. */
  ready(): Promise<void>
  /** Throws a GrammarError where a source is none that can be kept. */
  of(source: FormSource): Form
}

/** Forms to keep, least recently used first out. */
const MAX_FORMS = 32
/** Bytes of masks to keep. */
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
    // Where nothing can go on, a token is drawn all the same; `accept` refuses it.
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
              // Others are in the same step: any token is drawn, and `accept` ends this answer alone.
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
      // Built here, before any step waits for it.
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
