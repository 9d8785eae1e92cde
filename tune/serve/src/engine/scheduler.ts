/**
 * Chooses the rows of the next forward pass. Sequences that generate have one row each; the remaining rows go
 * to prompts, oldest first, in chunks. A sequence is admitted when the cache has blocks for its whole prompt.
 * When the cache is full, the newest sequence releases its blocks and waits; it is computed again later, from
 * what is still cached of it.
 */
import { BLOCK, type KvBlocks } from './kv-blocks.ts'
import type { Sequence } from './sequence.ts'

export type Limits = { maxRows: number; maxSequences: number; reusesPrefixes: boolean }

/** Rows of one sequence in a step: `count` tokens after those already computed. */
export type Chunk = { sequence: Sequence; count: number }

export type Scheduler = {
  readonly running: readonly Sequence[]
  readonly waiting: readonly Sequence[]
  readonly preemptions: number
  add(sequence: Sequence): void
  /** The next step. Empty if nothing can run. */
  plan(): Chunk[]
  /** Records that a chunk was computed and makes its full blocks available to others. */
  advance(chunk: Chunk): void
  /** Removes a sequence in any state. */
  remove(sequence: Sequence): void
}

export function createScheduler(
  blocks: KvBlocks,
  { maxRows, maxSequences, reusesPrefixes }: Limits,
): Scheduler {
  const running: Sequence[] = []
  const waiting: Sequence[] = []
  let preemptions = 0

  const rootOf = ({ adapter }: Sequence) => blocks.root(adapter?.id ?? -1)
  const drop = (list: Sequence[], sequence: Sequence) => {
    const index = list.indexOf(sequence)
    if (index >= 0) list.splice(index, 1)
  }
  function giveUp(sequence: Sequence): void {
    blocks.release(sequence.blocks)
    sequence.blocks.length = sequence.prefixes.length = 0
    sequence.computed = 0
  }

  /**
   * Gives a sequence blocks for `tokens` tokens, preempting newer ones. False if the sequence itself is the
   * newest.
   */
  function grow(sequence: Sequence, tokens: number): boolean {
    while (sequence.blocks.length * BLOCK < tokens) {
      const block = blocks.take()
      if (block !== undefined) {
        sequence.blocks.push(block)
        continue
      }
      const newest = running.at(-1)
      if (!newest || newest === sequence) return false
      preempt(newest)
    }
    return true
  }

  function preempt(sequence: Sequence): void {
    giveUp(sequence)
    drop(running, sequence)
    waiting.unshift(sequence)
    preemptions++
  }

  /**
   * Reuses cached blocks that hold the beginning of a sequence. Its last token is always computed, for its
   * logits.
   */
  function reuse(sequence: Sequence): void {
    let prefix = rootOf(sequence)
    if (!reusesPrefixes || sequence.sampling.promptLogprobs) return
    while ((sequence.blocks.length + 1) * BLOCK < sequence.ids.length) {
      const found = blocks.find(
        prefix,
        sequence.ids.slice(sequence.blocks.length * BLOCK, (sequence.blocks.length + 1) * BLOCK),
      )
      if (!found) break
      sequence.blocks.push(found.block)
      sequence.prefixes.push(found.prefix)
      prefix = found.prefix
    }
    sequence.computed = sequence.blocks.length * BLOCK
  }

  /** Admits the sequence that has waited longest. Undefined if none waits or too few blocks are free. */
  function admit(): Sequence | undefined {
    const next = waiting[0]
    if (!next || running.length >= maxSequences) return undefined
    reuse(next)
    // One token more than the prompt, so that the first generated token does not preempt.
    const missing = Math.ceil((next.ids.length + 1) / BLOCK) - next.blocks.length
    if (missing > blocks.available()) {
      giveUp(next)
      return undefined
    }
    next.cachedTokens ??= next.computed
    waiting.shift()
    running.push(next)
    return next
  }

  function plan(): Chunk[] {
    const chunks = new Map<Sequence, number>()
    let rows = maxRows
    /** Gives a sequence its rows. Returns their number. */
    const schedule = (sequence: Sequence): number => {
      const count = Math.min(rows, sequence.ids.length - sequence.computed)
      if (count === 0 || !running.includes(sequence)) return 0
      if (!grow(sequence, sequence.computed + count)) {
        preempt(sequence)
        return 0
      }
      chunks.set(sequence, count)
      return count
    }
    const [generating, prompting] = [
      running.filter(one => one.ids.length - one.computed === 1),
      running.filter(one => one.ids.length - one.computed > 1),
    ]
    for (const sequence of [...generating, ...prompting]) rows -= schedule(sequence)
    while (rows > 0) {
      const admitted = admit()
      if (!admitted) break
      rows -= schedule(admitted)
      // This request found no blocks, so the next one will not either.
      if (!running.includes(admitted)) break
    }
    // A chunk planned early may belong to a sequence that was preempted later.
    return [...chunks]
      .filter(([sequence]) => running.includes(sequence))
      .map(([sequence, count]) => ({ sequence, count }))
  }

  return {
    running,
    waiting,
    get preemptions() {
      return preemptions
    },
    add: sequence => void waiting.push(sequence),
    plan,
    advance({ sequence, count }) {
      sequence.computed += count
      for (let full = sequence.prefixes.length; (full + 1) * BLOCK <= sequence.computed; full++) {
        const block = sequence.blocks[full]
        if (block === undefined) throw new Error('a sequence has more tokens computed than blocks')
        sequence.prefixes.push(
          blocks.share(
            block,
            sequence.prefixes[full - 1] ?? rootOf(sequence),
            sequence.ids.slice(full * BLOCK, (full + 1) * BLOCK),
          ),
        )
      }
    },
    remove(sequence) {
      drop(running, sequence)
      drop(waiting, sequence)
      giveUp(sequence)
    },
  }
}
