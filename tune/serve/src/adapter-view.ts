/**
 * The model as requests for an adapter see it. An adapter that replaces embeddings may have more tokens than
 * the base, and its directory may contain its own tokenizer, as PEFT and TRL write it.
 */
import { InputError, loadTokenizer, readModelText } from '@cairn-tune/weights'
import type { OwnWeights } from './engine/own-weights.ts'
import { formsOf, type ServedModel } from './served-model.ts'
import { createTexts } from './texts.ts'
import { readTokenizerInfo } from './tokenizer-info.ts'

export type AdapterView = { model: ServedModel; close: () => Promise<void> }

export async function createAdapterView(
  model: ServedModel,
  path: string,
  own: OwnWeights | undefined,
): Promise<AdapterView> {
  const none = { model, close: async () => undefined }
  if (!own) return none
  const vocabSize = own.shape.config.vocab_size
  const text = await readModelText(path, 'tokenizer.json')
  if (text !== undefined && text !== (await readModelText(model.directory, 'tokenizer.json'))) {
    const { chatTemplate } = model
    const tokenizer = await loadTokenizer(path, chatTemplate)
    if (tokenizer.vocabSize > vocabSize)
      throw new InputError(
        `${path}: its tokenizer has ${tokenizer.vocabSize} tokens, but its embeddings have ${vocabSize}`,
      )
    const endTokens = [...new Set([...model.endTokens, ...[tokenizer.eosTokenId ?? []].flat()])]
    const texts = createTexts(tokenizer, { directory: path, chatTemplate })
    const view = {
      ...model,
      tokenizer,
      texts,
      tokenizerInfo: await readTokenizerInfo(path, chatTemplate),
      vocabSize,
      maxPromptBytes: model.maxModelLen * tokenizer.maxTokenBytes,
      endTokens,
      forms: formsOf(tokenizer, vocabSize, endTokens),
    }
    return { model: view, close: texts.close }
  }
  if (vocabSize === model.vocabSize) return none
  const forms = formsOf(model.tokenizer, vocabSize, model.endTokens)
  return { ...none, model: { ...model, vocabSize, forms } }
}
