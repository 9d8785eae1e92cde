/** Tokens that a run adds to its model: a tokenizer that knows them, and rows for them. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ModelConfig } from '@cairn-tune/models'
import { InputError, loadTokenizer, readModelText } from '@cairn-tune/weights'
import { z } from 'zod'
import type { TrainConfig } from './config.ts'

const tokenizerJson = z.looseObject({
  added_tokens: z.array(z.looseObject({ id: z.int(), content: z.string() })).default([]),
})

export type AddedTokens = {
  config: TrainConfig
  model: ModelConfig
  /** Rows of the new tokens, which start from the mean of the others. */
  newRows: readonly number[]
}

/**
 * Adds the tokens of `added_tokens` behind the last one of the tokenizer in `directory`, and rows for them
 * where needed.
 */
export async function addTokens(
  config: TrainConfig,
  model: ModelConfig,
  directory: string,
): Promise<AddedTokens> {
  const { added_tokens: added } = config
  if (added === undefined) return { config, model, newRows: [] }
  const tokenizer = await loadTokenizer(directory)
  const known = added.find(token => tokenizer.idOf(token) !== undefined)
  if (known !== undefined)
    throw new InputError(
      `added_tokens: ${config.model} already has ${JSON.stringify(known)}; name its id in ` +
        'trainable_token_indices instead',
    )
  const twice = added.find((token, i) => added.indexOf(token) !== i)
  if (twice !== undefined) throw new InputError(`added_tokens: names ${JSON.stringify(twice)} twice`)
  const newRows = added.map((_, i) => tokenizer.vocabSize + i)
  const text = (await readModelText(directory, 'tokenizer.json')) ?? ''
  await writeFile(join(directory, 'tokenizer.json'), withTokens(text, added, newRows))
  return {
    config: {
      ...config,
      trainable_token_indices: [...(config.trainable_token_indices ?? []), ...newRows],
    },
    model: { ...model, vocab_size: Math.max(model.vocab_size, tokenizer.vocabSize + added.length) },
    newRows,
  }
}

/** tokenizer.json with more special tokens. */
function withTokens(text: string, added: readonly string[], ids: readonly number[]): string {
  const json = tokenizerJson.parse(JSON.parse(text))
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
  const more = added.map((content, i) => ({ id: ids[i] ?? 0, content, ...flags }))
  return `${JSON.stringify({ ...json, added_tokens: [...json.added_tokens, ...more] }, null, 2)}\n`
}
