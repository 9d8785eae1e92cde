/**
 * Tokenised data sets on disk, so that a second run on the same data starts at once. A file is named by a
 * hash of everything that determines its content.
 */
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { makeDirectories, openSafetensors, writeSafetensors, type ModelTokenizer } from '@cairn-tune/weights'
import { tokenizeExamples, type Document, type DocumentOptions, type Documents } from './documents.ts'
import type { Example } from './examples.ts'

/** Directory for reproducible files. */
export const cacheRoot = (env: NodeJS.ProcessEnv = process.env): string =>
  join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cairn-tune')

/** Raise when the same input would be tokenised differently. */
const VERSION = '2'

/**
 * tokenizeExamples, or the saved result of an earlier call with the same examples, tokenizer and options.
 * `tokenizerFingerprint` identifies the tokenizer's files.
 */
export async function tokenizeCached(
  directory: string,
  examples: readonly Example[],
  tokenizer: ModelTokenizer,
  tokenizerFingerprint: string,
  options: DocumentOptions,
): Promise<Documents> {
  const hash = createHash('sha256').update(
    JSON.stringify([VERSION, tokenizerFingerprint, options.maxSeqLength, options.trainOn, options.tooLong]),
  )
  for (const example of examples) hash.update(`\n${JSON.stringify(example)}`)
  const path = join(directory, `${hash.digest('hex').slice(0, 32)}.safetensors`)
  if (await exists(path)) return readDocuments(path)
  const made = tokenizeExamples(examples, tokenizer, options)
  await makeDirectories(directory)
  await writeDocuments(path, made)
  return made
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

async function writeDocuments(
  path: string,
  { documents, truncated, dropped, refused }: Documents,
): Promise<void> {
  const lengths = Int32Array.from(documents, ({ tokens }) => tokens.length)
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const tokens = new Int32Array(total)
  const isTrained = new Uint8Array(total)
  let start = 0
  for (const document of documents) {
    tokens.set(document.tokens, start)
    isTrained.set(document.isTrained, start)
    start += document.tokens.length
  }
  const bytes = (values: Int32Array) => new Uint8Array(values.buffer)
  await writeSafetensors(
    path,
    [
      { name: 'tokens', dtype: 'I32', shape: [total], bytes: bytes(tokens) },
      { name: 'is_trained', dtype: 'U8', shape: [total], bytes: isTrained },
      { name: 'lengths', dtype: 'I32', shape: [lengths.length], bytes: bytes(lengths) },
    ],
    { truncated: String(truncated), dropped: String(dropped), refused: JSON.stringify(refused) },
  )
}

async function readDocuments(path: string): Promise<Documents> {
  const file = await openSafetensors(path)
  try {
    const words = async (name: string) => new Int32Array((await file.read(name)).buffer)
    const [tokens, lengths, isTrained] = [
      await words('tokens'),
      await words('lengths'),
      await file.read('is_trained'),
    ]
    let start = 0
    const documents = Array.from(lengths, (length): Document => {
      const end = start + length
      const document = { tokens: tokens.subarray(start, end), isTrained: isTrained.subarray(start, end) }
      start = end
      return document
    })
    return {
      documents,
      truncated: Number(file.metadata['truncated']),
      dropped: Number(file.metadata['dropped']),
      refused: JSON.parse(file.metadata['refused'] ?? '[]') as Documents['refused'],
    }
  } finally {
    await file.close()
  }
}
