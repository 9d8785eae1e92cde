import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDocumentStore, documentsOf, listOf, selectFrom } from './document-store.ts'
import type { Document } from './documents.ts'
import { countsByShare, mixDocuments } from './mix.ts'
import { readTokens, writeTokens } from './token-cache.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-store-'))
})
afterAll(() => rm(directory, { recursive: true }))

const documentOf = (length: number, seed: number): Document => ({
  tokens: Int32Array.from({ length }, (_, i) => (seed * 7919 + i * 31) % 200_000),
  isTrained: Uint8Array.from({ length }, (_, i) => (i + seed) % 2),
})

test('documents come back from memory and from the file that many go to', async () => {
  const documents = Array.from({ length: 300 }, (_, i) => documentOf(1 + ((i * 37) % 900), i))
  // Documents before, across and behind what was moved to the file.
  for (const maxTokens of [1, 1000, 50_000, 2 ** 24]) {
    const store = createDocumentStore(directory, maxTokens)
    for (const document of documents) store.add(document)
    expect([...documentsOf(store)]).toEqual(documents)
    expect(store.lengthOf(12)).toBe(documents[12]?.tokens.length)
    expect(store.at(300)).toBeUndefined()
    const path = join(directory, `${maxTokens}.tokens`)
    await writeTokens(path, store, { note: 'ș' })
    store.close()
    const read = await readTokens(path)
    expect([...documentsOf(read.documents)]).toEqual(documents)
    expect(read.record).toEqual({ note: 'ș' })
    read.close()
  }
})

test('a document longer than a block of the store', () => {
  const store = createDocumentStore(directory, 2 ** 21)
  const long = documentOf(3 * 2 ** 20 + 5, 1)
  const short = documentOf(3, 2)
  for (const document of [short, long, short]) store.add(document)
  const found = store.at(1)
  expect(found?.tokens.length).toBe(long.tokens.length)
  expect(found?.tokens.every((token, i) => token === long.tokens[i])).toBe(true)
  expect(store.at(2)).toEqual(short)
  store.close()
})

test('shares of a mix: the set that is largest for its share is seen once', () => {
  expect(countsByShare([10, 30], [undefined, undefined])).toEqual([10, 30])
  expect(countsByShare([10, 30], [1, 1])).toEqual([30, 30])
  expect(countsByShare([10, 30], [3, 1])).toEqual([90, 30])
  expect(countsByShare([10, 30, 5], [0.5, 0.3, 0.2])).toEqual([50, 30, 20])
  const lists = [listOf([documentOf(1, 1), documentOf(2, 2)]), listOf([documentOf(3, 3)])]
  const mixed = mixDocuments(lists, [5, 2])
  expect([...documentsOf(mixed)].map(({ tokens }) => tokens.length)).toEqual([1, 2, 1, 2, 1, 3, 3])
  expect(mixed.lengthOf(6)).toBe(3)
  expect(mixed.at(7)).toBeUndefined()
  expect(selectFrom(mixed, [6, 1]).lengthOf(1)).toBe(2)
})
