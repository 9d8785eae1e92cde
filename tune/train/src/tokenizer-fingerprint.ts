import { createHash } from 'node:crypto'
import { TOKENIZER_TEXTS, readModelText, templatesText } from '@cairn-tune/weights'

/** Hash of everything that determines the ids of a text. */
export async function tokenizerFingerprint(directory: string): Promise<string> {
  const hash = createHash('sha256')
  for (const name of TOKENIZER_TEXTS) {
    const text = await readModelText(directory, name)
    hash.update(`${name} ${text?.length ?? -1}\n`).update(text ?? '')
  }
  hash.update(await templatesText(directory))
  return hash.digest('hex')
}
