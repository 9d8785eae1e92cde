/**
 * Touches pages of the cache before sequences reach them. The operating system allocates memory on first
 * touch, in huge pages, and one step touches new pages of every layer: without this, that step takes tens of
 * milliseconds longer. Pages that are never reached take no memory.
 */
import type { DeviceBuffer, Engine } from '@cairn-tune/native'

/** Size of the largest pages of the engine's memory. */
const PAGE_BYTES = 2 ** 21

export type CachePages = {
  /** Blocks below this number are in use. Prepares those after them. */
  reach(blocks: number): void
  /** Resolves when all requested pages are ready. */
  settled(): Promise<void>
}

export function createCachePages(
  engine: Pick<Engine, 'touch'>,
  caches: readonly DeviceBuffer[],
  blocks: number,
): CachePages {
  const bytesOf = (cache: DeviceBuffer) => cache.byteLength / blocks
  // A step is a page of every layer's keys and values, one after the other. Two steps are prepared when less
  // than one is ready.
  const step = Math.max(1, Math.ceil(PAGE_BYTES / Math.min(...caches.map(bytesOf))))
  let ready = 0
  let wanted = 0
  let isTouching = false
  let touching = Promise.resolve()

  async function touch(): Promise<void> {
    isTouching = true
    while (ready < wanted) {
      for (const cache of caches)
        await engine.touch(cache, ready * bytesOf(cache), Math.min(blocks, ready + step) * bytesOf(cache))
      ready += step
    }
    isTouching = false
  }

  function reach(used: number): void {
    if (ready - used >= step || ready >= blocks) return
    wanted = Math.max(wanted, Math.min(blocks, used + 2 * step))
    if (!isTouching) touching = touch()
  }
  reach(0)
  return { reach, settled: () => touching }
}
