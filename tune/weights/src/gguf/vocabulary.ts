/**
 * The tokenizer inside a GGUF file: tokens in order of their ids, their types and merges, special tokens by
 * id, the chat template.
 */
import type { ChatTemplates } from '../chat.ts'
import { InputError, UnsupportedError } from '../errors.ts'
import type { Metadata } from './metadata.ts'
import { readSentencePiece, type SentencePiece } from './sentence-piece.ts'
import { SPLIT_NAMES, splitNamed, type SplitRow } from './split-patterns.ts'
import { TOKEN_TYPES, type Token, type TokenType } from './tokens.ts'

const typeNames = new Map<number, TokenType>(
  Object.entries(TOKEN_TYPES).map(([name, id]) => [id, name as TokenType]),
)

export type ByteLevel = {
  kind: 'gpt2'
  split: SplitRow
  /** Two tokens with a space between them, which no token of a byte-level vocabulary contains. */
  merges: string[]
}

export type Vocabulary<Model = ByteLevel | SentencePiece> = {
  model: Model
  tokens: Token[]
  start: number | undefined
  /** The first ends a text or turn; the others end one too. */
  ends: number[]
  padding: number | undefined
  unknown: number | undefined
  /** Whether a text starts with the start token. */
  addsStart: boolean
  templates: ChatTemplates
}

const KEY = 'tokenizer.ggml'
/** Keys of ids that end an answer, the tokenizer's own first. */
const END_KEYS = ['eos_token_id', 'eot_token_id', 'eom_token_id']

/** Control tokens that end an answer even if no key names them, from llama.cpp's list. */
const END_TEXTS = ['</s>', '<|end|>', '<end_of_turn>', '<|im_end|>', '<|eot_id|>', '<|endoftext|>', '<EOT>']
/** SentencePiece's defaults for absent keys. */
const SENTENCE_PIECE_IDS: Record<string, number> = { unknown_token_id: 0, bos_token_id: 1, eos_token_id: 2 }

/** Reads and checks the vocabulary: byte-level BPE with a known split, or SentencePiece's BPE. */
export function readVocabulary(path: string, metadata: Metadata): Vocabulary {
  const kind = metadata.needs(`${KEY}.model`, metadata.text(`${KEY}.model`))
  if (kind !== 'gpt2' && kind !== 'llama')
    throw new UnsupportedError(
      `${path}: ${KEY}.model ${JSON.stringify(kind)} is not supported; supported: ` +
        '"gpt2" (byte-level BPE) and "llama" (SentencePiece BPE)',
    )
  const split = kind === 'gpt2' ? readSplit(path, metadata) : undefined
  const texts = metadata.needs(`${KEY}.tokens`, metadata.texts(`${KEY}.tokens`))
  const types = metadata.numbers(`${KEY}.token_type`)
  if (types && types.length !== texts.length)
    throw new InputError(
      `${path}: ${KEY}.token_type has ${types.length} entries, but ${KEY}.tokens has ${texts.length}`,
    )
  const id = (key: string) => {
    const value = metadata.whole(`${KEY}.${key}`) ?? (split ? undefined : SENTENCE_PIECE_IDS[key])
    // Converters' values for an absent token.
    if (value === undefined || value === 0xff_ff_ff_ff || value === -1) return undefined
    if (value < 0 || value >= texts.length)
      throw new InputError(
        `${path}: ${KEY}.${key} is ${value}, but the vocabulary has ${texts.length} tokens`,
      )
    return value
  }
  if (metadata.flag(`${KEY}.add_eos_token`) === true)
    throw new UnsupportedError(
      `${path}: ${KEY}.add_eos_token is true; an end token after every text is not supported`,
    )
  const tokens = texts.map((text, i) => ({
    text,
    type: typeOf(path, i, types?.[i] ?? TOKEN_TYPES.normal, kind === 'llama'),
  }))
  const named = split ? [] : tokens.flatMap(({ text, type }, i) => (isEnd(text, type) ? i : []))
  return {
    model: split
      ? { kind: 'gpt2', split, merges: metadata.needs(`${KEY}.merges`, metadata.texts(`${KEY}.merges`)) }
      : readSentencePiece(path, metadata, tokens),
    tokens,
    start: id('bos_token_id'),
    ends: [...new Set([...END_KEYS.flatMap(key => id(key) ?? []), ...named])],
    padding: id('padding_token_id'),
    unknown: id('unknown_token_id'),
    addsStart: metadata.flag(`${KEY}.add_bos_token`) ?? (split ? (split.addsStart ?? false) : true),
    templates: templatesOf(metadata),
  }
}

const TEMPLATE = 'tokenizer.chat_template'

/** The chat templates by name, of which the default one has none in its key. */
export const templatesOf = (metadata: Metadata): ChatTemplates =>
  Object.fromEntries(
    metadata.keys().flatMap(key => {
      const name =
        key === TEMPLATE ? 'default' : key.startsWith(`${TEMPLATE}.`) ? key.slice(TEMPLATE.length + 1) : ''
      const text = name === '' ? undefined : metadata.text(key)
      return text === undefined ? [] : [[name, text]]
    }),
  )

const isEnd = (text: string, type: TokenType) => type === 'control' && END_TEXTS.includes(text)

function readSplit(path: string, metadata: Metadata): SplitRow {
  const pre = metadata.needs(`${KEY}.pre`, metadata.text(`${KEY}.pre`))
  const split = splitNamed(pre)
  if (!split)
    throw new UnsupportedError(
      `${path}: ${KEY}.pre ${JSON.stringify(pre)} is not a known pre-tokenizer; known: ` +
        `${SPLIT_NAMES.join(', ')}`,
    )
  return split
}

function typeOf(path: string, id: number, number: number, hasBytes: boolean): TokenType {
  const type = typeNames.get(number)
  if (!type)
    throw new InputError(
      `${path}: unknown ${KEY}.token_type ${number} of token ${id}; known: ` +
        `${Object.values(TOKEN_TYPES).join(', ')}`,
    )
  if (type === 'byte' && !hasBytes)
    throw new UnsupportedError(`${path}: token ${id} is a byte token, which byte-level BPE does not have`)
  return type
}
