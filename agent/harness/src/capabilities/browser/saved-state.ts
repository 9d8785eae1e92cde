/**
 * Keeps cookies and local storage of a session's browser for a week, so that a login survives an idle hour.
 * They are sealed with a key of this data directory, so the store cannot read them.
 */
import { join } from 'node:path'
import type { LogStore } from '@cairn/log'
import { createSealing } from '@cairn/sessions'
import type { BrowserContext } from 'playwright-core'

type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>

const KEEP_MS = 7 * 24 * 60 * 60_000
const MAX_BYTES = 1_000_000

export type StateKeeper = {
  write(session_id: string, state: StorageState): Promise<void>
  /** Null if there is none, or it was sealed with another key. */
  read(session_id: string): Promise<StorageState | null>
}

export function createStateKeeper(store: Pick<LogStore, 'browsers'>, dataDir: string): StateKeeper {
  const sealing = createSealing({ file: join(dataDir, 'browser-state.key') })
  return {
    async write(session_id, state) {
      const text = JSON.stringify(state)
      if (text.length > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} characters`)
      await store.browsers.keepState(session_id, sealing.seal(session_id, text), KEEP_MS)
    },
    async read(session_id) {
      const sealed = await store.browsers.state(session_id)
      const text = sealed === null ? null : sealing.open(session_id, sealed)
      return text === null ? null : (JSON.parse(text) as StorageState)
    },
  }
}
