/**
 * Assigns blocks of the KV cache to sequences. A block holds the keys and values of BLOCK tokens of one
 * sequence and, once full, may be read by any other sequence that starts with the same tokens under the same
 * adapter. A full block without readers stays until a block is needed; the least recently used is evicted
 * first.
 */

/** Tokens of a block. */
export const BLOCK = 16

/**
 * Identifies a prefix: the tokens of its last block after another prefix. Equal ids mean equal tokens and
 * adapter; nothing is hashed.
 */
export type PrefixId = number

type Block = { readers: number; key: string | undefined; prefix: PrefixId | undefined }

export type KvBlocks = {
  readonly total: number
  /** Number of blocks ever used. Blocks from this number on never were. */
  readonly reached: number
  /** Number of blocks that can be taken, including those kept only for reuse. */
  available(): number
  /** Takes a block for exclusive use. Undefined if every block has a reader. */
  take(): number | undefined
  /** The cached block of these tokens after a prefix. The caller becomes one of its readers. */
  find(after: PrefixId, tokens: readonly number[]): { block: number; prefix: PrefixId } | undefined
  /** Makes a full block available to other sequences. Returns the id of the prefix that ends with it. */
  share(block: number, after: PrefixId, tokens: readonly number[]): PrefixId
  /** Stops reading blocks, in the order of the sequence. */
  release(blocks: readonly number[]): void
  /** The empty prefix under an adapter. */
  root(adapter: number): PrefixId
  /** Invalidates what an adapter computed. */
  forget(adapter: number): void
}

export function createKvBlocks(total: number): KvBlocks {
  const blocks = Array.from({ length: total }, (): Block => ({
    readers: 0,
    key: undefined,
    prefix: undefined,
  }))
  const free = Array.from({ length: total }, (_, i) => total - 1 - i)
  const shared = new Map<string, number>()
  // Least recently used first.
  const idle = new Set<number>()
  const roots = new Map<number, PrefixId>()
  let nextPrefix = 0
  let reached = 0

  const at = (index: number): Block => {
    const block = blocks[index]
    if (!block) throw new Error(`block ${index} of ${total} does not exist`)
    return block
  }
  const keyOf = (after: PrefixId, tokens: readonly number[]) => `${after} ${tokens.join(' ')}`
  function unshare(block: Block): void {
    if (block.key !== undefined) shared.delete(block.key)
    block.key = block.prefix = undefined
  }

  return {
    total,
    get reached() {
      return reached
    },
    available: () => free.length + idle.size,
    take() {
      let index = free.pop()
      if (index === undefined) {
        const [oldest] = idle
        if (oldest === undefined) return undefined
        idle.delete(oldest)
        unshare(at(oldest))
        index = oldest
      }
      at(index).readers = 1
      reached = Math.max(reached, index + 1)
      return index
    },
    find(after, tokens) {
      const index = shared.get(keyOf(after, tokens))
      if (index === undefined) return undefined
      const block = at(index)
      block.readers++
      idle.delete(index)
      return { block: index, prefix: block.prefix ?? -1 }
    },
    share(index, after, tokens) {
      const key = keyOf(after, tokens)
      const known = shared.get(key)
      if (known !== undefined) return at(known).prefix ?? -1
      const block = at(index)
      block.key = key
      block.prefix = nextPrefix++
      shared.set(key, index)
      return block.prefix
    },
    release(list) {
      // The last blocks of a sequence are useless without the first, so they are evicted first.
      for (const index of list.toReversed()) {
        const block = at(index)
        if (--block.readers > 0) continue
        if (block.key === undefined) free.push(index)
        else idle.add(index)
      }
    },
    root(adapter) {
      const known = roots.get(adapter) ?? nextPrefix++
      roots.set(adapter, known)
      return known
    },
    // Its blocks can no longer be found, and are evicted in the usual order.
    forget: adapter => void roots.delete(adapter),
  }
}
