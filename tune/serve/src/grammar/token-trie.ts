/**
 * The vocabulary as a prefix tree of bytes in depth-first order. One pass finds every token that a grammar
 * state allows, and skips subtrees at the first wrong byte.
 */
import { setImmediate } from 'node:timers/promises'
import type { Machine, State } from './machine.ts'

export type TokenTrie = {
  /** Bytes of a token. Undefined for a token without text. */
  bytesOf(token: number): Uint8Array | undefined
  /** Bytes of the longest token. */
  readonly maxTokenBytes: number
  /** One bit per token of the vocabulary: whether its bytes may come next. */
  allowed(machine: Machine, state: State): Int32Array
}

type BytesOf = (token: number) => Uint8Array | undefined

export function createTokenTrie(count: number, bytesOf: BytesOf): TokenTrie {
  const work = layOut(count, bytesOf)
  for (let step = work.next(); ; step = work.next()) if (step.done) return step.value
}

/** Milliseconds of work before yielding to the event loop. */
const SLICE_MS = 20

export async function createTokenTrieInSlices(count: number, bytesOf: BytesOf): Promise<TokenTrie> {
  const work = layOut(count, bytesOf)
  let sliceStart = performance.now()
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value
    if (performance.now() - sliceStart < SLICE_MS) continue
    await setImmediate()
    sliceStart = performance.now()
  }
}

type Text = { bytes: Uint8Array; token: number }

/** Yields after about every thousandth of the work. */
function* layOut(count: number, bytesOf: BytesOf): Generator<void, TokenTrie> {
  const texts: (Uint8Array | undefined)[] = []
  /** Tokens by their first two bytes, so that no list takes long to sort. */
  const groups = new Map<number, Text[]>()
  for (let token = 0; token < count; token++) {
    const bytes = bytesOf(token)
    texts.push(bytes)
    if (token % 256 === 0) yield
    if (!bytes || bytes.length === 0) continue
    // A token of one byte comes before longer ones that start with it.
    const key = (bytes[0] ?? 0) * 257 + (bytes.length > 1 ? 1 + (bytes[1] ?? 0) : 0)
    const group = groups.get(key) ?? []
    group.push({ bytes, token })
    groups.set(key, group)
  }
  const byte: number[] = []
  const depth: number[] = []
  /** Index of the first node after a node and its subtree. */
  const after: number[] = []
  const firstToken: number[] = []
  const tokens: number[] = []
  /** Nodes of the previous token, by depth. */
  const path: number[] = []
  let before: Uint8Array = new Uint8Array()
  const close = (level: number) => {
    for (const node of path.splice(level)) after[node] = byte.length
  }
  const add = ({ bytes, token }: Text) => {
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
  // Sorted by bytes, tokens with a common prefix are adjacent, and each adds only the nodes that the previous
  // one lacks.
  for (const key of [...groups.keys()].toSorted((a, b) => a - b)) {
    for (const text of (groups.get(key) ?? []).toSorted((a, b) => Buffer.compare(a.bytes, b.bytes))) add(text)
    yield
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
  const words = Math.ceil(count / 32)

  return {
    bytesOf: token => texts[token],
    maxTokenBytes: depth.reduce((max, level) => Math.max(max, level + 1), 0),
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
