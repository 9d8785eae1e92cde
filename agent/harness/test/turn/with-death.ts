/**
 * The set-up of every kill test: a session whose first worker dies at one of its commits, and a second one
 * that takes over when the lease has run out.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogStore } from '@cairn/log'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import type { SessionEvent } from '@cairn/protocol'
import { dyingStore, type When } from './dying-store.ts'
import type { Stage } from './stage.ts'

/** Null: nobody dies. */
export type Death = { when: When; nth: number } | null
export type Mortal<S extends { stage: Stage }, R> = {
  set(store: LogStore): Promise<S>
  /** What happens before the worker that may die. */
  prepare?(scene: S): Promise<void>
  /** What people do, waiting on nothing but the log; over when the session is. */
  play(scene: S): Promise<unknown>
  /** What is to be judged, once every worker is at rest. */
  look(scene: S): R | Promise<R>
}
export type Played<R> = {
  seen: R
  events: SessionEvent[]
  /** Of the first worker. */ commits: number
  problems: string[]
}

const LEASE_MS = 61_000

/** Where the session lives: a store with a clock of the test's, and how to take it away. */
export type OpenStore = (now: () => number) => Promise<{ store: LogStore; remove(): Promise<void> | void }>
const embedded: OpenStore = async now => {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-kill-'))
  return {
    store: await openStoreInProcess({ dir, now, monotonic: now }),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

export async function withDeath<S extends { stage: Stage }, R>(
  { set, prepare, play, look }: Mortal<S, R>,
  death: Death,
  open: OpenStore = embedded,
): Promise<Played<R>> {
  const late = { ms: 0 }
  const { store, remove } = await open(() => Date.now() + late.ms)
  const scene = await set(store)
  const { stage } = scene
  try {
    await prepare?.(scene)
    const dying = dyingStore(store, death?.nth ?? Number.POSITIVE_INFINITY, death?.when ?? 'before')
    const first = stage.start({ store: dying.store, runnerId: 'worker-1' })
    const over = Promise.withResolvers<void>()
    const takeOver = async () => {
      await Promise.race([dying.died, over.promise])
      await first.idle()
      if (!dying.isDead()) return first
      late.ms += LEASE_MS
      return stage.start({ runnerId: 'worker-2' })
    }
    const [, last] = await Promise.all([play(scene).finally(over.resolve), takeOver()])
    await last.idle()
    return {
      seen: await look(scene),
      events: await stage.events(),
      commits: dying.commits(),
      problems: await store.check(),
    }
  } finally {
    await stage[Symbol.asyncDispose]()
    await remove()
  }
}

/**
 * Before and after each commit of a worker: everywhere that a death leaves a different log, or a different
 * world.
 */
export const deathsOf = (commits: number): { when: When; nth: number }[] =>
  (['before', 'after'] as const).flatMap(when => Array.from({ length: commits }, (_, nth) => ({ when, nth })))
