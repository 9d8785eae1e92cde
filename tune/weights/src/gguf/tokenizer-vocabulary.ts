/** The vocabulary of a GGUF file, from tokenizer.json. Rejects what a file cannot express. */
import { z } from 'zod'
import { InputError, UnsupportedError } from '../errors.ts'
import { openTexts, type TokenizerTexts } from '../tokenizer.ts'
import { splitLike, stepsOf } from './split-patterns.ts'
import { TOKEN_TYPES } from './tokens.ts'
import type { ByteLevel, Vocabulary } from './vocabulary.ts'
import { bool, text, texts, u32, type MetadataValue } from './writer.ts'

const off = z.literal([false, null]).optional()
const addedToken = z.looseObject({
  id: z.int().nonnegative(),
  content: z.string(),
  special: z.boolean().default(false),
  single_word: off,
  lstrip: off,
  rstrip: off,
})
const tokenizerJson = z.looseObject({
  normalizer: z.union([z.null(), z.looseObject({ type: z.literal('NFC') })]).optional(),
  pre_tokenizer: z.unknown(),
  post_processor: z.unknown(),
  decoder: z.looseObject({ type: z.literal('ByteLevel') }),
  model: z.looseObject({
    type: z.literal('BPE'),
    byte_fallback: off,
    continuing_subword_prefix: z.literal(['', null]).optional(),
    end_of_word_suffix: z.literal(['', null]).optional(),
    ignore_merges: z.boolean().default(false),
    vocab: z.record(z.string(), z.int().nonnegative()),
    merges: z.array(z.union([z.string(), z.tuple([z.string(), z.string()])])),
  }),
})

/** The tokens of tokenizer.json and of the files beside it. */
const withAdded = z.object({ added_tokens: z.array(addedToken) })

function expressible<T>(path: string, schema: z.ZodType<T>, json: unknown): T {
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  throw new UnsupportedError(
    `${path}: only byte-level BPE can be written to a GGUF file: ${z.prettifyError(parsed.error)}`,
  )
}

/** Tokens of `size` ids, the rows of the embedding. `ends` are the end tokens of config.json. */
export function vocabularyOf(
  texts: TokenizerTexts,
  size: number,
  ends: readonly number[],
): Vocabulary<ByteLevel> {
  const { path, templates } = texts
  const { pre_tokenizer, post_processor, model } = expressible(path, tokenizerJson, JSON.parse(texts.text))
  const { tokenizer, roles } = openTexts(texts)
  const { added_tokens: added } = expressible(path, withAdded, { added_tokens: tokenizer.added })
  const split = splitLike(pre_tokenizer, model.ignore_merges)
  if (!split)
    throw new UnsupportedError(
      `${path}: GGUF has no name for its pre_tokenizer` +
        `${model.ignore_merges ? ' with ignore_merges' : ''}: ${JSON.stringify(stepsOf(pre_tokenizer))}`,
    )
  const tokens: Vocabulary['tokens'] = Array.from({ length: size }, (_, id) => ({
    text: `[PAD${id}]`,
    type: 'unused',
  }))
  const put = (id: number, token: Vocabulary['tokens'][number]) => {
    if (id >= size)
      throw new InputError(
        `${path}: token ${JSON.stringify(token.text)} has id ${id}, but the model has only ${size} tokens`,
      )
    tokens[id] = token
  }
  for (const [token, id] of Object.entries(model.vocab)) put(id, { text: token, type: 'normal' })
  for (const { id, content, special } of added)
    put(id, { text: content, type: special ? 'control' : 'userDefined' })
  const idOf = (role: string) => (roles[role] === undefined ? undefined : tokenizer.idOf(roles[role]))
  return {
    model: {
      kind: 'gpt2',
      split,
      merges: model.merges.map(merge => (typeof merge === 'string' ? merge : merge.join(' '))),
    },
    tokens,
    start: idOf('bos_token'),
    ends: [...new Set([idOf('eos_token') ?? [], ...ends].flat())],
    padding: idOf('pad_token'),
    unknown: idOf('unk_token'),
    addsStart: addsStart(path, post_processor, roles['bos_token']),
    templates,
  }
}

/** What the tokenizer adds around a text: nothing, or the start token in front. */
function addsStart(path: string, processor: unknown, start: string | undefined): boolean {
  const refuse = (): never => {
    throw new UnsupportedError(
      `${path}: cannot write its post_processor to a GGUF file: ${JSON.stringify(processor)}`,
    )
  }
  if (processor === undefined || processor === null) return false
  if (typeof processor !== 'object' || !('type' in processor)) return refuse()
  if (processor.type === 'ByteLevel') return false
  if (processor.type === 'Sequence' && 'processors' in processor && Array.isArray(processor.processors))
    return processor.processors.map(one => addsStart(path, one, start)).includes(true)
  if (processor.type !== 'TemplateProcessing' || !('single' in processor)) return refuse()
  const single = JSON.stringify(processor.single)
  const own = { Sequence: { id: 'A', type_id: 0 } }
  if (single === JSON.stringify([own])) return false
  if (start !== undefined && single === JSON.stringify([{ SpecialToken: { id: start, type_id: 0 } }, own]))
    return true
  return refuse()
}

const END_KEYS = ['eos', 'eot', 'eom'] as const

/** The vocabulary as metadata of a file. */
export function vocabularyMetadata(
  path: string,
  vocabulary: Vocabulary<ByteLevel>,
): Record<string, MetadataValue> {
  const { tokens, start, ends, padding, unknown, addsStart: begins, templates } = vocabulary
  if (ends.length > END_KEYS.length)
    throw new UnsupportedError(
      `${path}: the model has ${ends.length} end tokens, but a GGUF file can name only ${END_KEYS.length}`,
    )
  const { kind, split, merges } = vocabulary.model
  const ids = {
    ...Object.fromEntries(ends.map((id, i) => [END_KEYS[i] ?? '', id])),
    bos: start,
    padding,
    unknown,
  }
  return {
    'tokenizer.ggml.model': text(kind),
    'tokenizer.ggml.pre': text(split.names[0]),
    'tokenizer.ggml.tokens': texts(tokens.map(token => token.text)),
    'tokenizer.ggml.token_type': {
      kind: 'int32s',
      value: tokens.map(({ type }) => TOKEN_TYPES[type]),
    },
    'tokenizer.ggml.merges': texts(merges),
    ...Object.fromEntries(
      Object.entries(ids).flatMap(([name, id]) =>
        id === undefined ? [] : [[`tokenizer.ggml.${name}_token_id`, u32(id)] as const],
      ),
    ),
    'tokenizer.ggml.add_bos_token': bool(begins),
    ...Object.fromEntries(
      Object.entries(templates).map(([name, template]) => [
        name === 'default' ? 'tokenizer.chat_template' : `tokenizer.chat_template.${name}`,
        text(template),
      ]),
    ),
  }
}
