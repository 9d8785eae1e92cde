/**
 * The vocabulary as a tree of bytes, laid out in depth-first order, so that one pass over it finds every
 * token that a state of a grammar allows, and skips what begins wrongly.
 */
import type { Machine, State } from './machine.ts'

export type TokenTrie = {
  /** Bytes of a token; undefined for one that is no text. */
  bytesOf(token: number): Uint8Array | undefined
  /** Bytes of the longest token. */
  readonly longest: number
  /** A bit for each token of the vocabulary: whether its bytes may come next. */
  allowed(machine: Machine, state: State): Int32Array
}

export function createTokenTrie(texts: readonly (Uint8Array | undefined)[]): TokenTrie {
  const byte: number[] = []
  const depth: number[] = []
  /** Where the first node after this one and all below it lies. */
  const after: number[] = []
  const firstToken: number[] = []
  const tokens: number[] = []
  // In the order of their bytes, tokens that begin alike stand together: each adds the nodes that the one
  // before it does not have.
  const sorted = texts
    .flatMap((bytes, token) => (bytes && bytes.length > 0 ? [{ bytes, token }] : []))
    .toSorted((a, b) => Buffer.compare(a.bytes, b.bytes))
  /** Nodes of the token before, by depth. */
  const path: number[] = []
  let before: Uint8Array = new Uint8Array()
  const close = (level: number) => {
    for (const node of path.splice(level)) after[node] = byte.length
  }
  for (const { bytes, token } of sorted) {
    let common = 0
    while (common < before.length && before[common] === bytes[common]) common++
    close(common)
    for (let level = common; level < bytes.length; level++) {
      path.push(byte.push(bytes[level] ?? 0) - 1)
      depth.push(level)
      firstToken.push(tokens.length)
    }
    tokens.push(token)
    before = bytes
  }
  close(0)
  firstToken.push(tokens.length)
  const trie = {
    byte: Uint8Array.from(byte),
    depth: Int32Array.from(depth),
    after: Int32Array.from(after),
    firstToken: Int32Array.from(firstToken),
    tokens: Int32Array.from(tokens),
  }
  const words = Math.ceil(texts.length / 32)

  return {
    bytesOf: token => texts[token],
    longest: depth.reduce((most, level) => Math.max(most, level + 1), 0),
    allowed(machine, state) {
      const mask = new Int32Array(words)
      const path: State[] = [state]
      for (let at = 0; at < trie.byte.length;) {
        const level = trie.depth[at] ?? 0
        const next = machine.step(path[level] ?? state, trie.byte[at] ?? 0)
        if (!next) {
          at = trie.after[at] ?? trie.byte.length
          continue
        }
        path[level + 1] = next
        for (let i = trie.firstToken[at] ?? 0; i < (trie.firstToken[at + 1] ?? 0); i++) {
          const token = trie.tokens[i] ?? 0
          mask[token >> 5] = (mask[token >> 5] ?? 0) | (1 << (token & 31))
        }
        at++
      }
      return mask
    },
  }
}
