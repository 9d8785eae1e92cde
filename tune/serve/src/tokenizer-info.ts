/** GET /tokenizer_info: the tokenizer's settings in the format of vLLM, which lm-evaluation-harness reads. */
import { readTokenizerTexts } from '@cairn-tune/weights'
import { z } from 'zod'

const addedTokens = z.object({
  added_tokens: z.array(z.looseObject({ id: z.int(), content: z.string() })).default([]),
})

/** Replaces each token that a file stores as an object by its text, as vLLM does. */
function withTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withTexts)
  if (typeof value !== 'object' || value === null) return value
  if ('content' in value) return value.content
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withTexts(one)]))
}

/** The keys of tokenizer_config.json, the added tokens by id, and the template that the server uses. */
export async function readTokenizerInfo(
  directory: string,
  chatTemplate: string | undefined,
): Promise<Record<string, unknown>> {
  const { text, config, templates } = await readTokenizerTexts(directory)
  const { added_tokens: added } = addedTokens.parse(JSON.parse(text))
  const { chat_template: _, ...settings } = withTexts(config) as Record<string, unknown>
  const used = chatTemplate ?? templates['default']
  return {
    added_tokens_decoder: Object.fromEntries(added.map(({ id, content }) => [id, content])),
    ...settings,
    tokenizer_class: settings['tokenizer_class'] ?? 'PreTrainedTokenizerFast',
    ...(used === undefined ? {} : { chat_template: used }),
  }
}
