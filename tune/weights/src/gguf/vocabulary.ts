/**
 * The tokenizer inside a GGUF file: tokens in order of their ids, what each is for, merges in order, special
 * tokens by id, the chat template.
 */
import { InputError, UnsupportedError } from '../errors.ts'
import type { Metadata } from './metadata.ts'
import { SPLIT_NAMES, splitNamed, type SplitRow } from './split-patterns.ts'

/** What a token is for, by its number in a file. */
export const TOKEN_TYPES = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const
type TokenType = keyof typeof TOKEN_TYPES
const typeNames = new Map<number, TokenType>(
  Object.entries(TOKEN_TYPES).map(([name, id]) => [id, name as TokenType]),
)

export type Vocabulary = {
  split: SplitRow
  tokens: { text: string; type: TokenType }[]
  /** Two tokens and a space between, which no token of a byte-level vocabulary has. */
  merges: string[]
  start: number | undefined
  /** The first ends a text or turn; the others end one too. */
  ends: number[]
  padding: number | undefined
  unknown: number | undefined
  /** Whether a text begins with the start token. */
  addsStart: boolean
  template: string | undefined
}

const KEY = 'tokenizer.ggml'
/** Every id that ends an answer, the tokenizer's own first. */
const END_KEYS = ['eos_token_id', 'eot_token_id', 'eom_token_id']

/** Reads and checks it. Only byte-level BPE with a split that is known is read. */
export function readVocabulary(path: string, metadata: Metadata): Vocabulary {
  const model = metadata.needs(`${KEY}.model`, metadata.text(`${KEY}.model`))
  if (model !== 'gpt2')
    throw new UnsupportedError(
      `${path}: ${KEY}.model ${JSON.stringify(model)} is not supported; "gpt2", which is byte-level BPE, is`,
    )
  const pre = metadata.needs(`${KEY}.pre`, metadata.text(`${KEY}.pre`))
  const split = splitNamed(pre)
  if (!split)
    throw new UnsupportedError(
      `${path}: ${KEY}.pre ${JSON.stringify(pre)} is not a known way to split texts; known: ` +
        `${SPLIT_NAMES.join(', ')}`,
    )
  const texts = metadata.needs(`${KEY}.tokens`, metadata.texts(`${KEY}.tokens`))
  const types = metadata.numbers(`${KEY}.token_type`)
  if (types && types.length !== texts.length)
    throw new InputError(
      `${path}: ${KEY}.token_type has ${types.length} entries for the ${texts.length} of ${KEY}.tokens`,
    )
  const id = (key: string) => {
    const value = metadata.whole(`${KEY}.${key}`)
    // What a converter writes where there is none.
    if (value === undefined || value === 0xff_ff_ff_ff || value === -1) return undefined
    if (value < 0 || value >= texts.length)
      throw new InputError(
        `${path}: ${KEY}.${key} is ${value}, and the vocabulary has ${texts.length} tokens`,
      )
    return value
  }
  if (metadata.flag(`${KEY}.add_eos_token`) === true)
    throw new UnsupportedError(
      `${path}: ${KEY}.add_eos_token is true; an end token after every text is not supported`,
    )
  return {
    split,
    tokens: texts.map((text, i) => ({ text, type: typeOf(path, i, types?.[i] ?? TOKEN_TYPES.normal) })),
    merges: metadata.needs(`${KEY}.merges`, metadata.texts(`${KEY}.merges`)),
    start: id('bos_token_id'),
    ends: [...new Set(END_KEYS.flatMap(key => id(key) ?? []))],
    padding: id('padding_token_id'),
    unknown: id('unknown_token_id'),
    addsStart: metadata.flag(`${KEY}.add_bos_token`) ?? split.addsStart ?? false,
    template: metadata.text('tokenizer.chat_template'),
  }
}

function typeOf(path: string, id: number, number: number): TokenType {
  const type = typeNames.get(number)
  if (!type)
    throw new InputError(
      `${path}: ${KEY}.token_type of token ${id} is ${number}; known are ` +
        `${Object.values(TOKEN_TYPES).join(', ')}`,
    )
  if (type === 'byte')
    throw new UnsupportedError(
      `${path}: token ${id} stands for a byte, which byte-level BPE has no tokens for`,
    )
  return type
}

type Json = Record<string, unknown>

/** What tokenizer.json and tokenizer_config.json would say. */
export function tokenizerFiles(path: string, vocabulary: Vocabulary): { tokenizer: Json; config: Json } {
  const { split, tokens, merges, start, ends, padding, unknown, addsStart } = vocabulary
  const vocab = new Map<string, number>()
  tokens.forEach(({ text, type }, id) => {
    if (type === 'unused') return
    const other = vocab.get(text)
    if (other !== undefined)
      throw new InputError(`${path}: ${KEY}.tokens ${other} and ${id} are both ${JSON.stringify(text)}`)
    vocab.set(text, id)
  })
  const textOf = (id: number | undefined) => (id === undefined ? undefined : tokens[id]?.text)
  const startText = textOf(start)
  if (addsStart && startText === undefined)
    throw new InputError(`${path}: texts begin with a start token, and there is no ${KEY}.bos_token_id`)
  const added = tokens.flatMap(({ text: content, type }, id) =>
    type === 'control' || type === 'userDefined'
      ? [
          {
            id,
            content,
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
            special: type === 'control',
          },
        ]
      : [],
  )
  const isAdded = new Set(added.map(({ id }) => id))
  const [only, ...more] = split.steps
  return {
    tokenizer: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: added,
      normalizer: split.composes ? { type: 'NFC' } : null,
      pre_tokenizer: more.length === 0 ? only : { type: 'Sequence', pretokenizers: split.steps },
      post_processor: addsStart ? startFirst(startText ?? '', start ?? 0) : null,
      decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: split.ignoresMerges ?? false,
        vocab: Object.fromEntries([...vocab].filter(([, id]) => !isAdded.has(id))),
        merges: merges.map((merge, i) => parted(path, merge, i)),
      },
    },
    config: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      clean_up_tokenization_spaces: false,
      ...given({
        bos_token: startText,
        eos_token: textOf(ends[0]),
        pad_token: textOf(padding),
        unk_token: textOf(unknown),
      }),
    },
  }
}

const given = (values: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))

function parted(path: string, merge: string, i: number): [string, string] {
  // A token may begin with a space, so the first character is never the one between.
  const space = merge.indexOf(' ', 1)
  if (space < 0 || space === merge.length - 1)
    throw new InputError(
      `${path}: ${KEY}.merges ${i} must be two tokens and a space between, got ${JSON.stringify(merge)}`,
    )
  return [merge.slice(0, space), merge.slice(space + 1)]
}

const startFirst = (text: string, id: number): Json => ({
  type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: text, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
  pair: [
    { SpecialToken: { id: text, type_id: 0 } },
    { Sequence: { id: 'A', type_id: 0 } },
    { Sequence: { id: 'B', type_id: 1 } },
  ],
  special_tokens: { [text]: { id: text, ids: [id], tokens: [text] } },
})
