/**
 * Parts that sessions share while their configuration is the same, such as connections. A part that no
 * configuration uses any more is closed after the last session that holds it.
 */
type Part<T> = { value: T; holders: number; isCurrent: boolean }

export type SharedParts<T> = {
  /** The part of this key, and how to let it go. */
  hold(key: string, make: () => T): { value: T; release: () => void }
  /** Closes what has none of these keys and no holder, now or after its last holder. */
  keepOnly(isCurrent: (key: string) => boolean): void
  /** Closes everything. */
  close(): Promise<void>
}

export function createSharedParts<T>(close: (value: T) => Promise<void>): SharedParts<T> {
  const parts = new Map<string, Part<T>>()
  const closing = new Set<Promise<void>>()
  function drop(key: string, part: Part<T>): void {
    parts.delete(key)
    const done = close(part.value).finally(() => closing.delete(done))
    closing.add(done)
  }
  return {
    hold(key, make) {
      let part = parts.get(key)
      if (part === undefined) parts.set(key, (part = { value: make(), holders: 0, isCurrent: true }))
      const held = part
      held.holders += 1
      let isReleased = false
      return {
        value: held.value,
        release() {
          if (isReleased) return
          isReleased = true
          held.holders -= 1
          if (held.holders === 0 && !held.isCurrent) drop(key, held)
        },
      }
    },
    keepOnly(isCurrent) {
      for (const [key, part] of parts) {
        part.isCurrent = isCurrent(key)
        if (!part.isCurrent && part.holders === 0) drop(key, part)
      }
    },
    async close() {
      for (const [key, part] of parts) drop(key, part)
      await Promise.all(closing)
    },
  }
}
