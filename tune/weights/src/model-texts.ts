/** The text files of a model: of its directory, or derived from its GGUF file. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from './fs-errors.ts'
import { isGgufPath } from './gguf/gguf-file.ts'
import { readGgufText } from './gguf/model-texts.ts'

/** The files of a model other than weights, those that determine tokenisation first. */
export const TOKENIZER_TEXTS = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'chat_template.jinja',
  // The next two name end tokens.
  'generation_config.json',
  'config.json',
] as const
const OTHER_TEXTS = ['hf_quant_config.json', 'vocab.json', 'merges.txt', 'chat_template.json'] as const
export const MODEL_TEXTS = [...TOKENIZER_TEXTS, ...OTHER_TEXTS]
export type ModelText = (typeof MODEL_TEXTS)[number]

/** Undefined if the model has no such file. */
export async function readModelText(model: string, name: ModelText): Promise<string | undefined> {
  if (isGgufPath(model)) return readGgufText(model, name)
  return readFile(join(model, name), 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
}
