/**
 * Documents as tokens in little memory: four bytes a token, and in a file once there are many. Training reads
 * the documents of a micro-batch when it needs them.
 */
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { WriteError } from '@cairn-tune/weights'
import type { Document } from './documents.ts'

/** Documents by index. An array of documents is one, too. */
export type DocumentList = {
  readonly length: number
  at: (index: number) => Document | undefined
  /** Number of tokens of a document. */
  lengthOf: (index: number) => number
}

export const listOf = (documents: readonly Document[]): DocumentList => ({
  length: documents.length,
  at: index => documents[index],
  lengthOf: index => documents[index]?.tokens.length ?? 0,
})

/** Some documents of a list, by their indices, which may repeat. */
export const selectFrom = (list: DocumentList, indices: ArrayLike<number>): DocumentList => ({
  length: indices.length,
  at: index => list.at(indices[index] ?? -1),
  lengthOf: index => list.lengthOf(indices[index] ?? -1),
})

export function* documentsOf(list: DocumentList): Generator<Document> {
  for (let i = 0; i < list.length; i++) {
    const document = list.at(i)
    if (document) yield document
  }
}

/** Tokens in memory before a store moves them to a file. */
export const MAX_TOKENS_IN_MEMORY = 16 * 2 ** 20
const BLOCK_TOKENS = 2 ** 20

export type DocumentStore = DocumentList & {
  add: (document: Document) => void
  /** All tokens in order, for a file: twice the id, plus 1 if the token is trained. */
  codes: () => Generator<Int32Array>
  lengths: () => Int32Array
  tokens: number
  close: () => void
}

/** An empty store. A large one creates a file without a name in the directory, deleted with the process. */
export function createDocumentStore(directory: string, maxTokens = MAX_TOKENS_IN_MEMORY): DocumentStore {
  let lengths = new Int32Array(1024)
  let starts = new Float64Array(1024)
  let count = 0
  let tokens = 0
  /** Tokens that are not in the file, in blocks of one size. */
  let blocks: Int32Array[] = []
  let file: number | undefined
  let inFile = 0
  const spill = () => {
    file ??= openNameless(directory)
    for (const block of blocks) {
      const codes = block.subarray(0, tokens - inFile)
      writeWhole(file, codes, inFile * 4)
      inFile += codes.length
    }
    blocks = []
  }
  const put = (codes: Int32Array) => {
    for (let at = 0; at < codes.length;) {
      const offset = (tokens - inFile) % BLOCK_TOKENS
      if (offset === 0) blocks.push(new Int32Array(BLOCK_TOKENS))
      const part = codes.subarray(at, at + BLOCK_TOKENS - offset)
      blocks.at(-1)?.set(part, offset)
      tokens += part.length
      at += part.length
    }
  }
  const read = (start: number, end: number): Int32Array => {
    const codes = new Int32Array(end - start)
    const stored = Math.max(0, Math.min(end, inFile) - start)
    if (stored > 0 && file !== undefined) readSync(file, codes, 0, stored * 4, start * 4)
    for (let at = start + stored; at < end;) {
      const [block, offset] = [Math.floor((at - inFile) / BLOCK_TOKENS), (at - inFile) % BLOCK_TOKENS]
      const part =
        blocks[block]?.subarray(offset, Math.min(BLOCK_TOKENS, offset + end - at)) ?? new Int32Array()
      if (part.length === 0) throw new Error('[createDocumentStore] tokens are missing')
      codes.set(part, at - start)
      at += part.length
    }
    return codes
  }
  return {
    get length() {
      return count
    },
    get tokens() {
      return tokens
    },
    lengthOf: index => lengths[index] ?? 0,
    at(index) {
      if (index < 0 || index >= count) return undefined
      const start = starts[index] ?? 0
      return decodeDocument(read(start, start + (lengths[index] ?? 0)))
    },
    add({ tokens: ids, isTrained }) {
      if (count === lengths.length) {
        lengths = grown(lengths, new Int32Array(2 * count))
        starts = grown(starts, new Float64Array(2 * count))
      }
      lengths[count] = ids.length
      starts[count] = tokens
      count++
      put(ids.map((id, i) => 2 * id + (isTrained[i] ?? 0)))
      if (tokens - inFile >= maxTokens) spill()
    },
    *codes() {
      for (let at = 0; at < tokens; at += BLOCK_TOKENS) yield read(at, Math.min(tokens, at + BLOCK_TOKENS))
    },
    lengths: () => lengths.subarray(0, count),
    close() {
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}

function grown<T extends Int32Array | Float64Array>(from: T, to: T): T {
  to.set(from)
  return to
}

export const decodeDocument = (codes: Int32Array): Document => ({
  tokens: codes.map(code => code >> 1),
  isTrained: Uint8Array.from(codes, code => code & 1),
})

function writeWhole(file: number, codes: Int32Array, position: number): void {
  try {
    for (let at = 0; at < codes.byteLength;)
      at += writeSync(file, codes, at, codes.byteLength - at, position + at)
  } catch (error) {
    throw new WriteError('the temporary file of tokens', error)
  }
}

/** Opens a file and removes its name, so that it is gone when the process ends. */
function openNameless(directory: string): number {
  const path = join(directory, `${randomUUID()}.partial`)
  const file = openSync(path, 'wx+')
  unlinkSync(path)
  return file
}
