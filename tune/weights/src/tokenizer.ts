/** A model's tokenizer and chat template, read from its directory. */
import { join } from 'node:path'
import { openTokenizer, TokenizerError, type Encoded, type Tokenizer } from '@cairn-tune/tokenizers'
import { z } from 'zod'
import type { Chat, ChatTemplates } from './chat.ts'
import { compileChatTemplate, type ChatPiece, type ChatTemplate } from './chat-template.ts'
import { chatTemplateSchema, readChatTemplates } from './chat-templates.ts'
import { InputError } from './errors.ts'
import { isGgufPath } from './gguf/gguf-file.ts'
import { markTokens, type MarkedTokens } from './marked-tokens.ts'
import { readModelText, type ModelText } from './model-texts.ts'
import { addedTokens, specialTokensOf, tokensConfig, tokensMap, type TokenTexts } from './special-tokens.ts'
import { createPieces, type PieceOf } from './token-pieces.ts'

export type ModelTokenizer = {
  encode: {
    /** Ids of a text. Special tokens written in it count as such; none are added. */
    (text: string): number[]
    /**
     * Ids of a text, and the range of characters of each in UTF-16 code units. `special` adds the tokens
     * that the tokenizer adds to every text; their range is empty.
     */
    (text: string, options: { special: boolean }): Encoded
  }
  /** Encodes with the special tokens that the tokenizer adds to every text, such as a start token. */
  encodeDocument: (text: string) => number[]
  /** Ids without a token, which a padded table has, give no text, as in transformers. */
  decode: (ids: readonly number[], options?: { skipSpecialTokens?: boolean }) => string
  /** The contribution of each token to a text. Undefined if it depends on the token's neighbours. */
  pieceOf: PieceOf | undefined
  idOf: (token: string) => number | undefined
  /** One more than the highest id. */
  vocabSize: number
  /** Maximum bytes of text of a token. */
  maxTokenBytes: number
  bosTokenId: number | undefined
  eosTokenId: number | undefined
  padTokenId: number | undefined
  /** Undefined for a base model, which has none. */
  chat: ChatTemplate | undefined
  /** Ids of the text that pieces make together, and which of them the assistant wrote. */
  encodePieces: (pieces: readonly ChatPiece[], options: { isDocument: boolean }) => MarkedTokens
  /** Ids of a conversation, which are those of its whole text, and which of them the assistant wrote. */
  encodeChat: (chat: Chat) => MarkedTokens
}

const tokenText = z
  .union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)])
  .nullish()
const configSchema = z.looseObject({
  ...tokensConfig.shape,
  bos_token: tokenText,
  eos_token: tokenText,
  pad_token: tokenText,
  unk_token: tokenText,
  chat_template: chatTemplateSchema,
})
type Config = z.infer<typeof configSchema>

/** The files that define a model's tokenizer. `path` is tokenizer.json's, for messages. */
export type TokenizerTexts = {
  path: string
  /** tokenizer.json as written, because numbers that JavaScript parses may change. */
  text: string
  config: Config
  map: TokenTexts['map']
  added: TokenTexts['added']
  /** Ids of end tokens in generation_config.json and config.json, in this order. */
  ends: number[]
  templates: ChatTemplates
}

const endsSchema = z.looseObject({ eos_token_id: z.union([z.int(), z.array(z.int())]).nullish() })

/** Reads the files of a model that define its tokenizer and its chat template. */
export async function readTokenizerTexts(directory: string): Promise<TokenizerTexts> {
  const path = join(directory, 'tokenizer.json')
  const text = await readModelText(directory, 'tokenizer.json')
  if (text === undefined)
    throw new InputError(`${path}: no such file; only tokenizers with a tokenizer.json are supported`)
  async function read<T>(name: ModelText, schema: z.ZodType<T>): Promise<T> {
    const file = join(directory, name)
    const parsed = schema.safeParse(parseJson(file, await readModelText(directory, name)) ?? {})
    if (!parsed.success) throw new InputError(`${file}: ${z.prettifyError(parsed.error)}`)
    return parsed.data
  }
  const config = await read('tokenizer_config.json', configSchema)
  // A GGUF file names its end tokens in one place.
  const more = isGgufPath(directory) ? [] : (['generation_config.json', 'config.json'] as const)
  const ends = await Promise.all(more.map(name => read(name, endsSchema)))
  return {
    path,
    text,
    config,
    map: await read('special_tokens_map.json', tokensMap),
    added: await read('added_tokens.json', addedTokens),
    ends: ends.flatMap(({ eos_token_id }) => eos_token_id ?? []),
    templates: await readChatTemplates(directory, config.chat_template),
  }
}

/** The tokenizer of the files, and the token of each role: `bos_token`, `eos_token` and so on. */
export function openTexts(texts: TokenizerTexts): { tokenizer: Tokenizer; roles: Record<string, string> } {
  const { path, text, config } = texts
  let roles: Record<string, string> = {}
  try {
    const tokenizer = openTokenizer(text, {
      splitsSpecial: config.split_special_tokens ?? false,
      add(own) {
        const tokens = specialTokensOf(texts, own)
        roles = tokens.roles
        return tokens.add
      },
    })
    return { tokenizer, roles }
  } catch (error) {
    if (!(error instanceof TokenizerError)) throw error
    parseJson(path, text)
    throw new InputError(`${path}: invalid tokenizer: ${error.message}`, { cause: error })
  }
}

/** The tokenizer of a model directory or GGUF file. `chatTemplate` replaces its own if given. */
export async function loadTokenizer(
  directory: string,
  chatTemplate?: string | ChatTemplates,
): Promise<ModelTokenizer> {
  const texts = await readTokenizerTexts(directory)
  const given = typeof chatTemplate === 'string' ? { default: chatTemplate } : chatTemplate
  try {
    return createTokenizer(texts, given ?? texts.templates)
  } catch (error) {
    if (error instanceof InputError) throw new InputError(`${directory}: ${error.message}`, { cause: error })
    throw error
  }
}

function parseJson(path: string, text: string | undefined): object | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch (error) {
    throw new InputError(`${path}: not JSON`, { cause: error })
  }
  throw new InputError(`${path}: must be a JSON object`)
}

function createTokenizer(texts: TokenizerTexts, templates: ChatTemplates): ModelTokenizer {
  const { tokenizer, roles } = openTexts(texts)
  const idOf = (token: string | undefined) => (token === undefined ? undefined : tokenizer.idOf(token))
  const named = ['bos_token', 'eos_token', 'pad_token', 'unk_token'].filter(role => role in roles)
  const special = Object.fromEntries(named.map(role => [role, roles[role] ?? '']))
  const chat = Object.keys(templates).length === 0 ? undefined : compileChatTemplate(templates, special)
  function encode(text: string): number[]
  function encode(text: string, options: { special: boolean }): Encoded
  function encode(text: string, options?: { special: boolean }): number[] | Encoded {
    return options ? tokenizer.encode(text, options) : tokenizer.idsOf(text, { special: false })
  }
  const encodePieces: ModelTokenizer['encodePieces'] = (pieces, { isDocument }) => {
    const text = pieces.map(piece => piece.text).join('')
    const inner = tokenizer.encode(text, { special: false })
    const ids = isDocument ? tokenizer.idsOf(text, { special: true }) : inner.ids
    const added = ids.findIndex((_, at) => inner.ids.every((id, i) => ids[at + i] === id))
    const [before, after] = [Math.max(added, 0), ids.length - inner.ids.length - Math.max(added, 0)]
    const empty = (count: number, at: number) =>
      Array.from({ length: count }, (): [number, number] => [at, at])
    return markTokens(
      { ids, offsets: [...empty(before, 0), ...inner.offsets, ...empty(after, text.length)] },
      pieces,
    )
  }
  return {
    encode,
    encodeDocument: text => tokenizer.idsOf(text, { special: true }),
    decode: (ids, { skipSpecialTokens = false } = {}) =>
      tokenizer.decode(ids, { skipSpecial: skipSpecialTokens }),
    pieceOf: createPieces(tokenizer),
    idOf,
    vocabSize: tokenizer.size,
    // The characters that stand for bytes take one or two each, so this is an upper bound.
    maxTokenBytes: Math.max(tokenizer.maxTokenBytes, 1),
    bosTokenId: idOf(roles['bos_token']),
    eosTokenId: idOf(roles['eos_token']) ?? texts.ends.find(id => tokenizer.tokenOf(id) !== undefined),
    padTokenId: idOf(roles['pad_token']),
    chat,
    encodePieces,
    encodeChat: conversation => {
      if (!chat)
        throw new InputError(
          'the model has no chat template (chat_template.jinja, or chat_template in ' +
            'tokenizer_config.json); add one or train on plain text',
        )
      return encodePieces(chat.pieces(conversation), { isDocument: false })
    },
  }
}
