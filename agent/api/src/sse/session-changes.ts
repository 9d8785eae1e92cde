/**
 * Changed sessions, for all streams of this process. A change is read from the store once, after a short
 * delay, so that a streaming answer causes a frame now and then instead of one per word.
 */
import { asError, type Session } from '@cairn/protocol'
import type { LogStore, SessionRow } from '@cairn/log'
import type { Logger } from '../logger.ts'

type SessionChange = { row: SessionRow; shown: Session }
export type SessionChanges = {
  /** Calls back with the changes since the last call; returns a function that stops it. */
  watch(changed: (changes: readonly SessionChange[]) => void): () => void
}

/** Changes of one session within this time are merged. */
const SETTLE_MS = 250

type Deps = { store: LogStore; log: Logger; shown: (rows: readonly SessionRow[]) => Promise<Session[]> }

export function createSessionChanges({ store, log, shown: show }: Deps): SessionChanges {
  const watchers = new Map<symbol, (changes: readonly SessionChange[]) => void>()
  let changed = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  let unwatch: (() => void) | null = null

  async function tell(): Promise<void> {
    timer = null
    const ids = [...changed]
    changed = new Set()
    try {
      const rows = await store.sessions.getMany(ids)
      const shown = await show(rows)
      const changes = rows.map((row, at) => ({ row, shown: shown[at] as Session }))
      for (const watcher of watchers.values()) watcher(changes)
    } catch (error) {
      // Subscribers re-read the whole list periodically, so a lost change is not permanent.
      log.error('reading changed sessions failed', { error: asError(error).message })
    }
  }

  return {
    watch(watcher) {
      const id = Symbol('sessions')
      watchers.set(id, watcher)
      unwatch ??= store.sessions.watch(sessionId => {
        changed.add(sessionId)
        timer ??= setTimeout(() => void tell(), SETTLE_MS).unref()
      })
      return () => {
        watchers.delete(id)
        if (watchers.size > 0) return
        unwatch?.()
        unwatch = null
        if (timer !== null) clearTimeout(timer)
        timer = null
        changed = new Set()
      }
    },
  }
}
