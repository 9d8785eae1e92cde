/**
 * SentencePiece's BPE, as in llama.cpp. A text is code points, with ▁ for each space. Of all neighbours that
 * form a token together, the pair with the highest score is merged first, the leftmost of equal scores.
 * Symbols that are not tokens at the end are written as byte tokens.
 *
 * tokenizer.json expresses this as an ordered list of merges: every split of a token in two, by the scores of
 * tokens. An order cannot express which pair of equal score is leftmost in a text, except for runs of one
 * character (such as spaces: Llama's have one score): symbols of such a run never grow from left to right, so
 * the leftmost pair is the one with the longest left side. Other tokens of equal score are rejected. Two ways
 * to form one token that overlap in a text (ab·aba and aba·ba in ab|aba|ba) always apply in the same order,
 * unlike in llama.cpp.
 */
import { InputError, UnsupportedError } from '../errors.ts'
import type { Metadata } from './metadata.ts'
import type { Token } from './tokens.ts'

export type SentencePiece = {
  kind: 'llama'
  /** In order of precedence. */
  merges: [left: string, right: string][]
  /** Whether a space is inserted before a text, and after each special token in it. */
  prefixesSpace: boolean
  /** Special tokens that absorb the white space after them. */
  absorbing: ReadonlySet<string>
}

const KEY = 'tokenizer.ggml'
const SPACE = '▁'

export function readSentencePiece(path: string, metadata: Metadata, tokens: readonly Token[]): SentencePiece {
  const scores = metadata.needs(`${KEY}.scores`, metadata.numbers(`${KEY}.scores`))
  if (scores.length !== tokens.length)
    throw new InputError(
      `${path}: ${KEY}.scores has ${scores.length} entries, but ${KEY}.tokens has ${tokens.length}`,
    )
  const bytes = new Set(tokens.flatMap(({ text, type }) => (type === 'byte' ? text : [])))
  for (let byte = 0; byte < 256; byte++)
    if (!bytes.has(byteToken(byte)))
      throw new UnsupportedError(
        `${path}: has no token of type 6 for byte ${byteToken(byte)}, so some texts cannot be tokenized`,
      )
  return {
    kind: 'llama',
    merges: mergesOf(path, tokens, scores),
    prefixesSpace: metadata.flag(`${KEY}.add_space_prefix`) ?? true,
    absorbing: absorbingOf(metadata.text('general.name') ?? '', tokens),
  }
}

const byteToken = (byte: number) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`

/** Tokens that are matched in a text before the rest of it is merged. */
export const isFoundFirst = ({ type }: Token): boolean =>
  type === 'control' || type === 'userDefined' || type === 'unknown'

/** No file says which tokens absorb spaces. llama.cpp recognises Phi-3's by the model's name. */
function absorbingOf(name: string, tokens: readonly Token[]): ReadonlySet<string> {
  if (!/phi-?3/i.test(name)) return new Set()
  const others = ['<unk>', '<s>', '<|endoftext|>']
  return new Set(tokens.flatMap(one => (isFoundFirst(one) && !others.includes(one.text) ? one.text : [])))
}

type Merge = SentencePiece['merges'][number]
/** Tokens of one score: the first of them, and their merges. */
type Equals = { id: number; text: string; merges: Merge[] }

/** All splits of tokens in two, the highest score first, then the longer left side. */
function mergesOf(path: string, tokens: readonly Token[], scores: readonly number[]): Merge[] {
  const known = new Set(tokens.flatMap(({ text, type }) => (type === 'unused' ? [] : text)))
  const byScore = new Map<number, Equals>()
  for (const [id, token] of tokens.entries()) {
    // A token that is matched first does not occur in the rest, unless it contains ▁, which a text has only
    // then.
    if (token.type === 'unused' || (isFoundFirst(token) && !token.text.includes(SPACE))) continue
    const merges = splitsOf(path, id, token.text, known)
    if (merges.length === 0) continue
    const score = scores[id] ?? 0
    const equals = byScore.get(score)
    if (!equals) {
      byScore.set(score, { id, text: token.text, merges })
      continue
    }
    if (new Set(equals.text + token.text).size > 1)
      throw new UnsupportedError(
        `${path}: ${KEY}.scores of tokens ${equals.id} and ${id} are both ${score}, so the merge ` +
          'order would depend on the text; that is not supported',
      )
    equals.merges.push(...merges)
  }
  const length = (text: string) => [...text].length
  return [...byScore]
    .toSorted(([a], [b]) => b - a)
    .flatMap(([, { merges }]) =>
      merges.toSorted((a, b) => length(b[0]) - length(a[0]) || length(b[1]) - length(a[1])),
    )
}

function splitsOf(path: string, id: number, text: string, known: ReadonlySet<string>): Merge[] {
  const characters = [...text]
  const ways: Merge[] = []
  for (let at = characters.length - 1; at > 0; at--) {
    const parts: Merge = [characters.slice(0, at).join(''), characters.slice(at).join('')]
    const missing = parts.filter(part => !known.has(part))
    if (missing.length === 0) ways.push(parts)
    else if (missing.every(part => [...part].length === 1))
      throw new UnsupportedError(
        `${path}: token ${id}, ${JSON.stringify(text)}, contains the character ` +
          `${JSON.stringify(missing[0])}, which is not a token; that is not supported`,
      )
  }
  return ways
}

type Json = Record<string, unknown>
const replace = (from: string, to: string): Json => ({
  type: 'Replace',
  pattern: { String: from },
  content: to,
})

/** The keys of tokenizer.json other than the tokens that are matched first. */
export function sentencePieceJson(
  { merges, prefixesSpace }: SentencePiece,
  vocab: ReadonlyMap<string, number>,
  unknown: string | undefined,
): Json {
  const escape = replace(' ', SPACE)
  return {
    normalizer: prefixesSpace
      ? { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: SPACE }, escape] }
      : escape,
    pre_tokenizer: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        replace(SPACE, ' '),
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        ...(prefixesSpace ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: unknown ?? null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab: Object.fromEntries(vocab),
      merges,
    },
  }
}
