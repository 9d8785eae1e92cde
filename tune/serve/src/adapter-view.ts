/**
 * The model as requests for an adapter see it. An adapter that replaces embeddings may have more tokens than
 * the base, and its directory may contain its own tokenizer and chat template, as PEFT and TRL write them.
 */
import { isDeepStrictEqual } from 'node:util'
import { InputError, loadTokenizer, readModelText, templatesIn } from '@cairn-tune/weights'
import type { OwnWeights } from './engine/own-weights.ts'
import { formsOf, type ServedModel } from './served-model.ts'
import { createTexts } from './texts.ts'

export type AdapterView = { model: ServedModel; close: () => Promise<void> }

export async function createAdapterView(
  model: ServedModel,
  path: string,
  own: OwnWeights | undefined,
): Promise<AdapterView> {
  const vocabSize = own?.shape.config.vocab_size ?? model.vocabSize
  const hasTokenizer = own !== undefined && (await hasOtherTokenizer(model, path))
  const trainedTemplates = await templatesIn(path)
  const baseTemplates = await templatesIn(model.directory)
  // --chat-template replaces the template of every adapter, too.
  const hasTemplates =
    model.chatTemplate === undefined &&
    trainedTemplates !== undefined &&
    !isDeepStrictEqual(trainedTemplates, baseTemplates)
  if (hasTokenizer || hasTemplates) {
    const directory = hasTokenizer ? path : model.directory
    const chatTemplate = model.chatTemplate ?? trainedTemplates ?? baseTemplates
    const tokenizer = await loadTokenizer(directory, chatTemplate)
    if (tokenizer.vocabSize > vocabSize)
      throw new InputError(
        `${path}: its tokenizer has ${tokenizer.vocabSize} tokens, but its embeddings have ${vocabSize}`,
      )
    const endTokens = [...new Set([...model.endTokens, ...[tokenizer.eosTokenId ?? []].flat()])]
    const texts = createTexts(tokenizer, { directory, chatTemplate })
    const view = {
      ...model,
      tokenizer,
      texts,
      vocabSize,
      maxPromptBytes: model.maxModelLen * tokenizer.maxTokenBytes,
      endTokens,
      forms:
        hasTokenizer || vocabSize !== model.vocabSize
          ? formsOf(tokenizer, vocabSize, endTokens)
          : model.forms,
    }
    return { model: view, close: texts.close }
  }
  const none = { model, close: async () => undefined }
  if (vocabSize === model.vocabSize) return none
  const forms = formsOf(model.tokenizer, vocabSize, model.endTokens)
  return { ...none, model: { ...model, vocabSize, forms } }
}

async function hasOtherTokenizer({ directory }: ServedModel, path: string): Promise<boolean> {
  const text = await readModelText(path, 'tokenizer.json')
  return text !== undefined && text !== (await readModelText(directory, 'tokenizer.json'))
}
