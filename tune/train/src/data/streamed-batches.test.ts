import { expect, test } from 'vitest'
import { START, type BatchOptions, type DataPosition } from './batches.ts'
import type { Document } from './documents.ts'
import { createStreamedBatches } from './streamed-batches.ts'

const options: BatchOptions = { maxSeqLength: 32, batchSize: 2, packing: true, seed: 7, padTokenId: 0 }

/** Documents of 1 to 20 tokens, each with its number as every token. */
const documents = Array.from({ length: 700 }, (_, i): Document => ({
  tokens: new Int32Array(1 + ((i * 13) % 20)).fill(i + 1),
  isTrained: new Uint8Array(1 + ((i * 13) % 20)).fill(1),
}))

function open(changes: Partial<BatchOptions> = {}) {
  let reads = 0
  let read = 0
  const batches = createStreamedBatches(
    async function* () {
      reads++
      for (const document of documents) {
        read++
        yield document
      }
    },
    { ...options, ...changes },
  )
  return { batches, counts: () => ({ reads, read }) }
}

type Opened = ReturnType<typeof open>

async function take({ batches }: Opened, from: DataPosition, steps: number, microBatches = 3) {
  const rows: number[][] = []
  let position = from
  for (let step = 0; step < steps; step++) {
    await batches.prepare?.(position, microBatches)
    for (let i = 0; i < microBatches; i++) {
      const { batch, next } = batches.batchAt(position)
      rows.push([...batch.tokens])
      position = next
    }
  }
  return { rows, position }
}

test('an epoch has every document once, in an order of its own', async () => {
  const opened = open()
  const seen: Map<number, number>[] = []
  const orders: number[][] = []
  let position = START
  while (position.epoch < 2) {
    await opened.batches.prepare?.(position, 1)
    const { batch, next } = opened.batches.batchAt(position)
    // A micro-batch at the border has a row of each epoch.
    for (const [row, epoch] of [position.epoch, next.row === 1 ? next.epoch : position.epoch].entries()) {
      const tokens = [...batch.tokens.subarray(32 * row, 32 * (row + 1))].filter(token => token > 0)
      const counts = (seen[epoch] ??= new Map())
      for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1)
      ;(orders[epoch] ??= []).push(...tokens)
    }
    position = next
  }
  const expected = new Map(documents.map(({ tokens }) => [tokens[0] ?? 0, tokens.length]))
  expect(seen[0]).toEqual(expected)
  expect(seen[1]).toEqual(expected)
  expect(orders[0]).not.toEqual(orders[1])
  await opened.batches.close()
})

test('the first micro-batch needs a part of the data', async () => {
  const opened = open()
  await take(opened, START, 1)
  expect(opened.counts()).toEqual({ reads: 1, read: expect.any(Number) })
  expect(opened.counts().read).toBeLessThan(150)
  await opened.batches.close()
})

test.each([true, false])('a run resumes at a position with the same rows (packing: %s)', async packing => {
  const whole = open({ packing })
  const { rows } = await take(whole, START, 60)
  const interrupted = open({ packing })
  const { position } = await take(interrupted, START, 25)
  const resumed = open({ packing })
  expect((await take(resumed, position, 35)).rows).toEqual(rows.slice(75))
  // A step that failed is tried again from its position.
  expect((await take(whole, START, 1)).rows).toEqual(rows.slice(0, 3))
  for (const { batches } of [whole, interrupted, resumed]) await batches.close()
})

test('rows have at most the boundaries that were planned', async () => {
  const opened = createStreamedBatches(
    async function* () {
      for (let i = 0; i < 500; i++) yield { tokens: Int32Array.of(1, 2), isTrained: Uint8Array.of(0, 1) }
    },
    { ...options, maxSeqLength: 64 },
  )
  await opened.prepare?.(START, 10)
  let position = START
  for (let i = 0; i < 10; i++) {
    const { batch, next } = opened.batchAt(position)
    expect(batch.cuSeqlens.length).toBeLessThanOrEqual(opened.maxBoundaries)
    position = next
  }
  await opened.close()
})
