import { expect, test } from 'vitest'
import { BLOCK, createKvBlocks } from './kv-blocks.ts'

const tokens = (start: number) => Array.from({ length: BLOCK }, (_, i) => start + i)

test('finds a full block only by the same tokens after the same prefix', () => {
  const blocks = createKvBlocks(4)
  const [root, other] = [blocks.root(-1), blocks.root(3)]
  const [a, b] = [blocks.take()!, blocks.take()!]
  const first = blocks.share(a, root, tokens(0))
  blocks.share(b, first, tokens(50))
  expect(blocks.find(root, tokens(0))?.block).toBe(a)
  expect(blocks.find(first, tokens(50))?.block).toBe(b)
  expect([
    blocks.find(other, tokens(0)),
    blocks.find(root, tokens(50)),
    blocks.find(first, tokens(51)),
  ]).toEqual([undefined, undefined, undefined])
})

test('unused blocks stay reusable until one is needed; the last of a sequence is evicted first', () => {
  const blocks = createKvBlocks(3)
  const root = blocks.root(-1)
  const [a, b] = [blocks.take()!, blocks.take()!]
  const first = blocks.share(a, root, tokens(0))
  blocks.share(b, first, tokens(50))
  blocks.release([a, b])
  expect(blocks.available()).toBe(3)
  blocks.take()
  expect(blocks.take()).toBe(b)
  expect(blocks.find(first, tokens(50))).toBeUndefined()
  expect(blocks.find(root, tokens(0))?.block).toBe(a)
  expect(blocks.take()).toBeUndefined()
})

test('never reuses blocks of an unloaded adapter', () => {
  const blocks = createKvBlocks(2)
  const a = blocks.take()!
  blocks.share(a, blocks.root(7), tokens(0))
  blocks.forget(7)
  expect(blocks.find(blocks.root(7), tokens(0))).toBeUndefined()
})
