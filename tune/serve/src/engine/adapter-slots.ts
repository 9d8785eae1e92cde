/**
 * Serves more adapters than there are slots: adapters in use have a slot, the others wait in memory, and the
 * least recently used one is evicted. Requests that wait for a slot are served in order, even before newer
 * requests whose adapter has one, so that none waits for ever.
 */
import type { AdapterStacks, LoadedAdapter } from './adapters.ts'
import { unloadedError } from './ended.ts'

export type AdapterSlots = {
  /** Gives a loaded adapter a slot if one is free. */
  fillFreeSlot(adapter: LoadedAdapter): Promise<void>
  /**
   * Adds a user of an adapter, which has a slot from then on. Returns a promise if that takes a while; it
   * rejects if the adapter is dropped.
   */
  acquire(adapter: LoadedAdapter): Promise<void> | undefined
  /** Removes a user. */
  release(adapter: LoadedAdapter): void
  /** Removes an adapter without users. */
  drop(adapter: LoadedAdapter): Promise<void>
}

type Waiter = { adapter: LoadedAdapter; resolve: () => void; reject: (error: unknown) => void }

export function createAdapterSlots(
  stacks: Pick<AdapterStacks, 'put' | 'free'>,
  /** Resolves when the step in flight, which may still read a slot, is over. */
  idle: () => Promise<void>,
): AdapterSlots {
  /** Least recently used first. */
  const users = new Map<LoadedAdapter, number>()
  const dropped = new WeakSet<LoadedAdapter>()
  const queue: Waiter[] = []
  let isServing = false

  function use(adapter: LoadedAdapter): void {
    const count = users.get(adapter) ?? 0
    users.delete(adapter)
    users.set(adapter, count + 1)
  }

  /** Writes an adapter to a free slot. False if there is none. */
  async function put(adapter: LoadedAdapter): Promise<boolean> {
    const slot = await stacks.put(adapter.stored)
    if (slot === undefined) return false
    if (dropped.has(adapter)) stacks.free(slot)
    else {
      adapter.slot = slot
      users.set(adapter, users.get(adapter) ?? 0)
    }
    return true
  }

  async function takeOut(adapter: LoadedAdapter): Promise<void> {
    const { slot } = adapter
    adapter.slot = undefined
    users.delete(adapter)
    await idle()
    if (slot !== undefined) stacks.free(slot)
  }

  /** Frees the slot of an adapter without users. False if all are in use. */
  async function evictIdle(): Promise<boolean> {
    const [unused] = [...users].find(([, count]) => count === 0) ?? []
    if (!unused) return false
    await takeOut(unused)
    return true
  }

  /** Serves waiting requests until no slot is available. */
  async function serve(): Promise<void> {
    isServing = true
    for (let next = queue[0]; next; next = queue[0]) {
      const { adapter } = next
      try {
        if (adapter.slot === undefined && !dropped.has(adapter) && !(await put(adapter))) {
          if (await evictIdle()) continue
          break
        }
        // The request may have looked the adapter up before it was unloaded. Without a slot it must not run.
        if (dropped.has(adapter)) throw unloadedError(adapter.name)
        use(adapter)
        next.resolve()
      } catch (error) {
        // An adapter that cannot be written fails only its own request; the requests behind it wait for other
        // adapters.
        next.reject(error)
      }
      queue.shift()
    }
    isServing = false
  }

  function wake(): void {
    if (!isServing) void serve()
  }

  return {
    fillFreeSlot: async adapter => void (await put(adapter)),
    acquire(adapter) {
      if (adapter.slot !== undefined && queue.length === 0) {
        use(adapter)
        return undefined
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      queue.push({ adapter, resolve, reject })
      wake()
      return promise
    },
    release(adapter) {
      const count = users.get(adapter)
      if (count !== undefined) users.set(adapter, count - 1)
      if (queue.length > 0) wake()
    },
    async drop(adapter) {
      dropped.add(adapter)
      await takeOut(adapter)
      if (queue.length > 0) wake()
    },
  }
}

/** A loaded adapter without a slot. */
export const loadedOf = (
  id: number,
  name: string,
  path: string,
  { stored, own }: Pick<LoadedAdapter, 'stored' | 'own'>,
): LoadedAdapter => ({
  id,
  name,
  path,
  // The changes are in `own`, in the engine's format.
  stored: own ? { ...stored, changes: [] } : stored,
  own,
  rank: stored.lora_rank,
  slot: undefined,
})
