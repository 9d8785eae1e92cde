/** A model's tokenizer and chat template, read from its directory. */
import { join } from 'node:path'
import { Tokenizer } from '@huggingface/tokenizers'
import { z } from 'zod'
import type { Chat } from './chat.ts'
import { compileChatTemplate, type ChatPiece, type ChatTemplate } from './chat-template.ts'
import { chatTemplateSchema, readChatTemplates, type ChatTemplates } from './chat-templates.ts'
import { InputError } from './errors.ts'
import { markTokens, type MarkedTokens } from './marked-tokens.ts'
import { readModelText } from './model-texts.ts'
import { tokenOffsets } from './token-offsets.ts'
import { createPieces, type PieceOf } from './token-pieces.ts'

export type ModelTokenizer = {
  /** Ids of a text. Special tokens written in it count as such; none are added. */
  encode: (text: string) => number[]
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
  bos_token: tokenText,
  eos_token: tokenText,
  pad_token: tokenText,
  unk_token: tokenText,
  chat_template: chatTemplateSchema,
})

/** The files that define a model's tokenizer. `path` is tokenizer.json's, for messages. */
export type TokenizerTexts = {
  path: string
  json: object
  config: z.infer<typeof configSchema>
  templates: ChatTemplates
}

/** Reads tokenizer.json, tokenizer_config.json and the chat templates of a model. */
export async function readTokenizerTexts(directory: string): Promise<TokenizerTexts> {
  const path = join(directory, 'tokenizer.json')
  const json = parseJson(path, await readModelText(directory, 'tokenizer.json'))
  if (json === undefined)
    throw new InputError(`${path}: no such file; only tokenizers with a tokenizer.json are supported`)
  const configPath = join(directory, 'tokenizer_config.json')
  const config = configSchema.safeParse(
    parseJson(configPath, await readModelText(directory, 'tokenizer_config.json')) ?? {},
  )
  if (!config.success) throw new InputError(`${configPath}: ${z.prettifyError(config.error)}`)
  const templates = await readChatTemplates(directory, config.data.chat_template)
  return { path, json, config: config.data, templates }
}

/** The tokenizer of a model directory or GGUF file. `chatTemplate` replaces its own if given. */
export async function loadTokenizer(directory: string, chatTemplate?: string): Promise<ModelTokenizer> {
  const { path, json, config, templates } = await readTokenizerTexts(directory)
  try {
    return createTokenizer(json, config, chatTemplate === undefined ? templates : { default: chatTemplate })
  } catch (error) {
    if (error instanceof InputError) throw new InputError(`${directory}: ${error.message}`, { cause: error })
    throw new InputError(
      `${path}: invalid tokenizer: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
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

function createTokenizer(
  json: object,
  config: z.infer<typeof configSchema>,
  templates: ChatTemplates,
): ModelTokenizer {
  // The clean-up deletes spaces, so decoding would not return the encoded text.
  const tokenizer = new Tokenizer(json, { ...config, clean_up_tokenization_spaces: false })
  const { bos_token, eos_token, pad_token, unk_token } = config
  const idOf = (token: string | null | undefined) =>
    typeof token === 'string' ? tokenizer.token_to_id(token) : undefined
  const special = Object.fromEntries(
    Object.entries({ bos_token, eos_token, pad_token, unk_token }).filter(
      ([, token]) => typeof token === 'string',
    ),
  )
  const chat = Object.keys(templates).length === 0 ? undefined : compileChatTemplate(templates, special)
  const encode = (text: string) =>
    text === '' ? [] : tokenizer.encode(text, { add_special_tokens: false }).ids
  const pieceOf = createPieces(json, tokenizer)
  const encodePieces: ModelTokenizer['encodePieces'] = (pieces, { isDocument }) => {
    const text = pieces.map(piece => piece.text).join('')
    const inner = encode(text)
    const offsets = tokenOffsets(text, inner, tokenizer, pieceOf)
    if (!offsets)
      throw new InputError('the tokenizer changes the text, so it is not known which tokens are the answer')
    const ids: number[] = isDocument ? tokenizer.encode(text).ids : inner
    const added = ids.findIndex((_, at) => inner.every((id: number, i: number) => ids[at + i] === id))
    const [before, after] = [Math.max(added, 0), ids.length - inner.length - Math.max(added, 0)]
    const empty = (count: number, at: number) =>
      Array.from({ length: count }, (): [number, number] => [at, at])
    return markTokens(
      { ids, offsets: [...empty(before, 0), ...offsets, ...empty(after, text.length)] },
      pieces,
    )
  }
  const known = new Set<number>(tokenizer.get_vocab().values())
  return {
    encode,
    encodeDocument: text => tokenizer.encode(text).ids,
    decode(ids, { skipSpecialTokens = false } = {}) {
      const own = ids.filter(id => known.has(id))
      if (own.length === 0) return ''
      return tokenizer.decode(own, {
        skip_special_tokens: skipSpecialTokens,
        clean_up_tokenization_spaces: false,
      })
    },
    pieceOf,
    idOf,
    vocabSize: [...known].reduce((max, id) => Math.max(max, id), -1) + 1,
    // The characters that stand for bytes take one or two each, so this is an upper bound.
    maxTokenBytes: [...tokenizer.get_vocab().keys()].reduce(
      (max, token) => Math.max(max, Buffer.byteLength(token)),
      1,
    ),
    bosTokenId: idOf(bos_token),
    eosTokenId: idOf(eos_token),
    padTokenId: idOf(pad_token),
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
