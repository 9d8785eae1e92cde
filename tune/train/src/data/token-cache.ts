/**
 * Tokenised data sets on disk, so that a second run on the same data starts at once. A file is named by a
 * hash of everything that determines its content: all tokens, the length of each document, a record in JSON,
 * and the size of that record.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { writeAll, writeAtomically } from '@cairn-tune/weights'
import {
  MAX_TOKENS_IN_MEMORY,
  decodeDocument,
  type DocumentList,
  type DocumentStore,
} from './document-store.ts'

/** Directory for reproducible files. */
export const cacheRoot = (env: NodeJS.ProcessEnv = process.env): string =>
  join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cairn-tune')

export const TOKENS_EXTENSION = '.tokens'

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array) =>
  new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)

export async function writeTokens(path: string, store: DocumentStore, record: object): Promise<void> {
  const text = new TextEncoder().encode(JSON.stringify(record))
  const sizes = Int32Array.of(store.length, text.byteLength)
  await writeAtomically(path, async file => {
    for (const codes of store.codes()) await writeAll(file, bytesOf(codes))
    await writeAll(file, bytesOf(store.lengths()))
    await writeAll(file, text)
    await writeAll(file, bytesOf(sizes))
  })
}

export type StoredTokens = { documents: DocumentList; record: unknown; close: () => void }

/** Opens a file of writeTokens. Documents of a large one stay in the file. */
export async function readTokens(path: string): Promise<StoredTokens> {
  const { size } = await stat(path)
  const file = openSync(path, 'r')
  const [count = 0, recordBytes = 0] = readWords(file, size - 8, 2)
  const recordAt = size - 8 - recordBytes
  const lengths = readWords(file, recordAt - 4 * count, count)
  const record: unknown = JSON.parse(readBytes(file, recordAt, recordBytes).toString('utf8'))
  const starts = new Float64Array(count)
  for (let i = 1; i < count; i++) starts[i] = (starts[i - 1] ?? 0) + (lengths[i - 1] ?? 0)
  const tokens = recordAt / 4 - count
  const whole = tokens <= MAX_TOKENS_IN_MEMORY ? readWords(file, 0, tokens) : undefined
  if (whole) closeSync(file)
  return {
    documents: {
      length: count,
      lengthOf: index => lengths[index] ?? 0,
      at(index) {
        if (index < 0 || index >= count) return undefined
        const start = starts[index] ?? 0
        const length = lengths[index] ?? 0
        return decodeDocument(whole?.subarray(start, start + length) ?? readWords(file, 4 * start, length))
      },
    },
    record,
    close: () => {
      if (!whole) closeSync(file)
    },
  }
}

function readBytes(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length;) {
    const read = readSync(file, bytes, at, length - at, position + at)
    if (read === 0) throw new Error('[readTokens] the file is cut')
    at += read
  }
  return bytes
}

function readWords(file: number, position: number, count: number): Int32Array {
  const { buffer, byteOffset } = readBytes(file, position, 4 * count)
  return new Int32Array(buffer, byteOffset, count)
}
