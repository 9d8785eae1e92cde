/** The tokenizer of a run, in a temporary directory if its tokens or chat template are not the model's. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { readTemplate, templatesIn, writeTemplates, type ChatTemplates } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import { copyCompanions } from './merge.ts'

export type RunTokenizer = {
  /** The copy to save with the adapter or model. Undefined if the tokenizer is the model's. */
  ownDirectory: string | undefined
  [Symbol.asyncDispose](): Promise<void>
}

/** Copies the model's tokenizer if the run changes it, and writes the run's chat template there. */
export async function openRunTokenizer(
  config: TrainConfig,
  modelDirectory: string,
  onNote: (line: string) => void,
): Promise<RunTokenizer> {
  const templates = await templatesOf(config, modelDirectory, onNote)
  if (templates === undefined && config.added_tokens === undefined)
    return { ownDirectory: undefined, [Symbol.asyncDispose]: async () => undefined }
  const directory = await mkdtemp(join(tmpdir(), 'cairn-tokenizer-'))
  await using undo = new AsyncDisposableStack()
  undo.defer(() => rm(directory, { recursive: true }))
  await copyCompanions(modelDirectory, directory)
  if (templates) await writeTemplates(templates, directory)
  const kept = undo.move()
  return { ownDirectory: directory, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** Templates in place of the model's: the given one, or those that init_adapter was trained with. */
async function templatesOf(
  { chat_template: given, init_adapter: adapter }: TrainConfig,
  modelDirectory: string,
  onNote: (line: string) => void,
): Promise<ChatTemplates | undefined> {
  if (given !== undefined) return { default: await readTemplate('chat_template', given) }
  const templates = adapter === undefined ? undefined : await templatesIn(adapter)
  if (!templates || isDeepStrictEqual(templates, await templatesIn(modelDirectory))) return undefined
  onNote(`chat template: that of init_adapter ${adapter}; --chat-template replaces it`)
  return templates
}
