/**
 * Which blocks of the KV cache each sequence holds. A block holds the keys and values of BLOCK tokens of one
 * sequence and, once full, may be read by any other sequence that begins with the same tokens under the same
 * adapter. A full block that nobody reads stays until a block is needed, the longest unused first.
 */

/** Tokens of a block. */
export const BLOCK = 16

/**
 * What a prefix of tokens is known by: the tokens of its last block after another prefix. Equal ids mean
 * equal tokens and adapter; nothing is hashed.
 */
export type PrefixId = number

type Block = { readers: number; key: string | undefined; prefix: PrefixId | undefined }

export type KvBlocks = {
  readonly total: number
  /** Blocks that were taken at some time; those from this number on never were. */
  readonly reached: number
  /** Blocks that can be had, those that only serve reuse included. */
  available(): number
  /** A block of one's own, or undefined where every one is read by someone. */
  take(): number | undefined
  /** The cached block of these tokens after a prefix; the caller becomes one of its readers. */
  find(after: PrefixId, tokens: readonly number[]): { block: number; prefix: PrefixId } | undefined
  /** Offers a block that is full to others. Gives what the prefix that ends with it is known by. */
  share(block: number, after: PrefixId, tokens: readonly number[]): PrefixId
  /** Stops reading blocks, in the order of the sequence. */
  release(blocks: readonly number[]): void
  /** The empty prefix under an adapter. */
  root(adapter: number): PrefixId
  /** Forgets what an adapter computed. */
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
  // In order of last use.
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
      // The last blocks of a sequence are worth nothing without the first, so they go first.
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
    // Its blocks can no longer be found, and leave as the oldest do.
    forget: adapter => void roots.delete(adapter),
  }
}
