/**
 * Time, chance and processes of a simulation, all of it from one seed. Nothing here waits for real: the next
 * thing in the queue happens as soon as everything that the last one set off has come to rest, so the same
 * seed is the same history, byte for byte.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '@cairn/models/clock'

/** mulberry32: small, seeded, good enough to pick moments. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Entry = { at: number; order: number; run: () => void; cancelled: boolean }

export type World = {
  now(): number
  random(): number
  chance(probability: number): boolean
  /** A whole number from `low` up to and including `high`. */
  between(low: number, high: number): number
  /** One of them, as likely as its weight says. */
  pick<T>(choices: readonly (readonly [weight: number, value: T])[]): T
  /** Readable, unique, and the same in every run of the seed. */
  newId(): string
  /** Something happens `ms` from now, whoever is alive then; returns how to call it off. */
  after(ms: number, run: () => void): () => void
  /** For listeners: Node keeps a composite signal, and all behind it, for as long as somebody listens. */
  readonly over: AbortSignal
  /** Nobody listens to anything of this world any more. */
  end(): void
  /** Lets things happen until `met`, or until `limitMs` have passed; says whether it was met. */
  run(met: () => boolean, limitMs: number): Promise<boolean>
}

export function createWorld(seed: number): World {
  const random = seeded(seed)
  const queue: Entry[] = []
  let now = Date.UTC(2026, 0, 1)
  let order = 0
  let ids = 0
  const ending = new AbortController()

  /** Sorted by time, then by who asked first. Insertion by bisection: the queue is short. */
  function insert(entry: Entry): void {
    let low = 0
    for (let high = queue.length; low < high;) {
      const middle = (low + high) >> 1
      const other = queue[middle] as Entry
      if (other.at < entry.at || (other.at === entry.at && other.order < entry.order)) low = middle + 1
      else high = middle
    }
    queue.splice(low, 0, entry)
  }

  const world: World = {
    now: () => now,
    random,
    chance: probability => random() < probability,
    between: (low, high) => low + Math.floor(random() * (high - low + 1)),
    pick(choices) {
      let left = random() * choices.reduce((sum, [weight]) => sum + weight, 0)
      for (const [weight, value] of choices) if ((left -= weight) < 0) return value
      const last = choices.at(-1)
      if (last === undefined) throw new Error('[simulation] nothing to pick from')
      return last[1]
    },
    newId: () => `id-${++ids}`,
    after(ms, run) {
      const entry: Entry = { at: now + Math.max(0, Math.ceil(ms)), order: order++, run, cancelled: false }
      insert(entry)
      return () => void (entry.cancelled = true)
    },
    over: ending.signal,
    end: () => ending.abort(),
    async run(met, limitMs) {
      const end = now + limitMs
      for (;;) {
        // One turn of the real event loop: every promise that can move has moved.
        await turn()
        if (met()) return true
        let next = queue.shift()
        while (next?.cancelled === true) next = queue.shift()
        if (next === undefined) return met()
        if (next.at > end) {
          insert(next)
          now = end
          return met()
        }
        now = Math.max(now, next.at)
        next.run()
      }
    },
  }
  return world
}

/**
 * A process: it can be killed, and then nothing reaches it any more, or stopped for a while, and then
 * everything reaches it late.
 */
export type Process = {
  readonly name: string
  readonly clock: Clock
  alive(): boolean
  /** As `world.after`, for what happens inside this process. */
  after(ms: number, run: () => void): () => void
  /** SIGKILL: no promise of it ever settles again. */
  kill(): void
  /** SIGSTOP, and SIGCONT `ms` later. */
  freeze(ms: number): void
}

/** Its monotonic clock began with the machine, and has nothing to do with the date. */
const BOOT = Date.UTC(2025, 11, 31)

/** `skewMs` is by how much its clock is wrong. */
export function createProcess(world: World, name: string, skewMs = 0): Process {
  let isAlive = true
  let frozen = 0
  let held: (() => void)[] = []
  const after = (ms: number, run: () => void): (() => void) => {
    let cancelled = false
    world.after(ms, function arrive() {
      if (!isAlive || cancelled) return
      if (frozen > 0) held.push(arrive)
      else run()
    })
    return () => void (cancelled = true)
  }
  return {
    name,
    after,
    alive: () => isAlive,
    clock: { now: () => world.now() + skewMs, monotonic: () => world.now() - BOOT, after },
    kill() {
      isAlive = false
      held = []
    },
    freeze(ms) {
      frozen += 1
      world.after(ms, () => {
        frozen -= 1
        if (frozen > 0) return
        for (const arrive of held.splice(0)) world.after(0, arrive)
      })
    },
  }
}
