/**
 * A byte-level BPE tokenizer for a small model made from scratch: words of the corpus become single tokens,
 * every digit stays a token.
 *
 * A word of a template has about six letters. With bytes alone a problem would be five times as long, and as
 * slow to train on.
 */

/** Marks the end of every document, and padding. The id is the index. */
const SPECIAL = ['<|endoftext|>'] as const
export const END_OF_TEXT = 0

/**
 * A digit, or letters or signs with the space before them. JavaScript and the tokenizer library's Rust read
 * this pattern alike. The space before a number is its own token and marks where the number starts.
 */
const PIECES = String.raw`\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+`

/**
 * The character that stands for a byte in byte-level vocabularies: the byte's own if visible, otherwise the
 * next free one from U+0100 on.
 */
const SIGNS: readonly string[] = (() => {
  const isVisible = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff)
  let free = 0x100
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isVisible(byte) ? byte : free++))
})()

type Word = { symbols: string[]; count: number }

/** Files of a tokenizer with at most `vocabulary` tokens, by name. The same corpus gives the same files. */
export function trainTokenizer(corpus: Iterable<string>, vocabulary: number): Record<string, string> {
  const words = countWords(corpus)
  const tokens: string[] = [...SPECIAL, ...SIGNS]
  const merges: [string, string][] = []
  while (tokens.length < vocabulary) {
    const pair = mostFrequentPair(words)
    if (!pair) break
    merges.push(pair)
    tokens.push(pair.join(''))
    for (const word of words) word.symbols = mergeIn(word.symbols, pair)
  }
  return tokenizerFiles(tokens, merges)
}

function countWords(corpus: Iterable<string>): Word[] {
  const pattern = new RegExp(PIECES, 'gu')
  const counts = new Map<string, number>()
  for (const text of corpus)
    for (const [piece] of text.matchAll(pattern)) counts.set(piece, (counts.get(piece) ?? 0) + 1)
  return [...counts].map(([piece, count]) => ({
    symbols: Array.from(new TextEncoder().encode(piece), byte => SIGNS[byte] ?? ''),
    count,
  }))
}

/** Ties go to the first pair by code units, so that the result does not depend on the order of the corpus. */
function mostFrequentPair(words: readonly Word[]): [string, string] | undefined {
  const counts = new Map<string, number>()
  for (const { symbols, count } of words) {
    for (let i = 1; i < symbols.length; i++) {
      const pair = `${symbols[i - 1]} ${symbols[i]}`
      counts.set(pair, (counts.get(pair) ?? 0) + count)
    }
  }
  let best: string | undefined
  let bestCount = 1
  for (const [pair, count] of counts) {
    if (count > bestCount || (count === bestCount && best !== undefined && pair < best))
      [best, bestCount] = [pair, count]
  }
  const [left, right] = best?.split(' ') ?? []
  return left !== undefined && right !== undefined ? [left, right] : undefined
}

function mergeIn(symbols: string[], [left, right]: readonly [string, string]): string[] {
  if (!symbols.includes(left)) return symbols
  const merged: string[] = []
  for (let i = 0; i < symbols.length; i++) {
    const isPair = symbols[i] === left && symbols[i + 1] === right
    merged.push(isPair ? left + right : (symbols[i] ?? ''))
    if (isPair) i++
  }
  return merged
}

function tokenizerFiles(
  tokens: readonly string[],
  merges: readonly (readonly [string, string])[],
): Record<string, string> {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: SPECIAL.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: PIECES }, behavior: 'Isolated', invert: false },
        byteLevel,
      ],
    },
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
    },
  }
  const config = {
    tokenizer_class: 'PreTrainedTokenizerFast',
    eos_token: SPECIAL[0],
    pad_token: SPECIAL[0],
    clean_up_tokenization_spaces: false,
    model_max_length: 40960,
  }
  return {
    'tokenizer.json': `${JSON.stringify(tokenizer)}\n`,
    'tokenizer_config.json': `${JSON.stringify(config, null, 2)}\n`,
  }
}
