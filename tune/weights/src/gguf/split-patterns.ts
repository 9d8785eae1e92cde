/**
 * How byte-level BPE tokenizers split a text before they merge. GGUF names the pattern
 * (`tokenizer.ggml.pre`), tokenizer.json spells it out; a row has both. A tokenizer without a row is neither
 * read nor written, because ids that are almost right are worse than none.
 */

/** One step of tokenizer.json's pre_tokenizer, without keys that have no effect. */
type SplitStep =
  | { type: 'Split'; pattern: { Regex: string }; behavior: 'Isolated' | 'Removed'; invert: boolean }
  | { type: 'Digits'; individual_digits: boolean }
  | { type: 'ByteLevel'; add_prefix_space: boolean; use_regex: boolean }

export type SplitRow = {
  /** GGUF's names of the pattern. The first is written. */
  names: readonly [string, ...string[]]
  steps: readonly SplitStep[]
  /** The models with this split compose characters first; llama.cpp does not, regardless of the file. */
  composes?: boolean
  /** A part that is a token is not split and merged again. */
  ignoresMerges?: boolean
  /** Whether a text starts with the start token by default. */
  addsStart?: boolean
}

const split = (Regex: string): SplitStep => ({
  type: 'Split',
  pattern: { Regex },
  behavior: 'Isolated',
  invert: false,
})
const bytes = (use_regex: boolean): SplitStep => ({ type: 'ByteLevel', add_prefix_space: false, use_regex })

const LETTERS_AND_SIGNS = String.raw`| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
const CONTRACTIONS = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|`
const UPPER = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
const LOWER = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
const SIGNS_O200K = String.raw`| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
const WORDS_O200K = (ending: string) =>
  String.raw`[^\r\n\p{L}\p{N}]?${UPPER}*${LOWER}+${ending}|[^\r\n\p{L}\p{N}]?${UPPER}+${LOWER}*${ending}`

const DEEPSEEK_IDEOGRAPHS = '[一-龥ࠀ-一가-\u{d7ff}]+'
/** DeepSeek's list of letters, which is older than \\p{L} of today. */
const DEEPSEEK_LETTERS = [
  'A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕ',
  'ἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭ',
  'Ꚁ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃',
].join('')

const SPLITS: readonly SplitRow[] = [
  {
    names: ['gpt-2', 'phi-2', 'olmo', 'mpt', 'gigachat', 'a.x-4.0', 'mellum', 'trillion'],
    steps: [bytes(true)],
  },
  {
    names: ['smollm', 'starcoder', 'refact', 'codeshell', 'command-r', 'exaone', 'minerva-7b'],
    steps: [{ type: 'Digits', individual_digits: true }, bytes(true)],
  },
  {
    names: ['qwen2', 'deepseek-r1-qwen', 'megrez'],
    steps: [split(String.raw`${CONTRACTIONS}\p{N}${LETTERS_AND_SIGNS}`), bytes(false)],
    composes: true,
  },
  {
    names: ['llama-bpe', 'llama3', 'llama-v3', 'falcon3', 'pixtral', 'midm-2.0'],
    steps: [split(String.raw`${CONTRACTIONS}\p{N}{1,3}${LETTERS_AND_SIGNS}`), bytes(false)],
    ignoresMerges: true,
    addsStart: true,
  },
  {
    names: ['dbrx', 'smaug-bpe'],
    steps: [split(String.raw`${CONTRACTIONS}\p{N}{1,3}${LETTERS_AND_SIGNS}`), bytes(false)],
  },
  {
    names: ['tekken'],
    steps: [split(String.raw`${WORDS_O200K('')}|\p{N}${SIGNS_O200K}`), bytes(false)],
    ignoresMerges: true,
    addsStart: true,
  },
  {
    names: ['gpt-4o', 'llama4', 'kanana2'],
    steps: [
      split(String.raw`${WORDS_O200K(String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)?`)}|\p{N}{1,3}${SIGNS_O200K}`),
      bytes(false),
    ],
  },
  {
    names: ['deepseek-coder'],
    steps: [
      split(String.raw`[\r\n]`),
      split(String.raw`\s?\p{L}+`),
      split(String.raw`\s?\p{P}+`),
      split(DEEPSEEK_IDEOGRAPHS),
      { type: 'Digits', individual_digits: true },
      bytes(false),
    ],
  },
  {
    names: ['deepseek-llm'],
    steps: [
      split(String.raw`[\r\n]`),
      split(String.raw`\s?[${DEEPSEEK_LETTERS}]+`),
      split(String.raw`\s?[!-/:-~！-／：-～‘-‟　-。]+`),
      split(String.raw`\s+$`),
      split(DEEPSEEK_IDEOGRAPHS),
      { type: 'Digits', individual_digits: false },
      bytes(false),
    ],
  },
]

export const SPLIT_NAMES: readonly string[] = SPLITS.flatMap(({ names }) => names)

/** The row of a GGUF name. */
export const splitNamed = (name: string): SplitRow | undefined =>
  SPLITS.find(({ names }) => names.includes(name))

type Json = Record<string, unknown>

/** The steps of a tokenizer.json's pre_tokenizer. Other values are returned unchanged. */
export function stepsOf(preTokenizer: unknown): unknown[] {
  if (typeof preTokenizer !== 'object' || preTokenizer === null) return []
  const step = preTokenizer as Json
  switch (step['type']) {
    case 'Sequence':
      return Array.isArray(step['pretokenizers']) ? step['pretokenizers'].flatMap(stepsOf) : [step]
    case 'Split': {
      const { type, pattern, behavior, invert = false } = step
      return [{ type, pattern, behavior, invert }]
    }
    case 'Digits':
      return [{ type: 'Digits', individual_digits: step['individual_digits'] ?? false }]
    case 'ByteLevel':
      return [
        {
          type: 'ByteLevel',
          add_prefix_space: step['add_prefix_space'] ?? true,
          use_regex: step['use_regex'] ?? true,
        },
      ]
    default:
      return [step]
  }
}

/** The row that splits like a tokenizer.json. Undefined if none does. */
export function splitLike(preTokenizer: unknown, ignoresMerges: boolean): SplitRow | undefined {
  const wanted = JSON.stringify(stepsOf(preTokenizer))
  const alike = SPLITS.filter(({ steps }) => JSON.stringify(steps) === wanted)
  return alike.find(row => (row.ignoresMerges ?? false) === ignoresMerges)
}
