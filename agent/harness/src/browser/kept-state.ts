/**
 * Cookies and local storage of a session's browser, kept beyond it for a week, so that a login survives an
 * idle hour. Sealed with a key of this data directory: the store holds what it cannot read.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LogStore } from '@cairn/log'
import type { BrowserContext } from 'playwright-core'

type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>

const KEEP_MS = 7 * 24 * 60 * 60_000
const MAX_BYTES = 1_000_000
const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

export type StateKeeper = {
  write(session_id: string, state: StorageState): Promise<void>
  /** Null where there is none, or it was sealed with another key. */
  read(session_id: string): Promise<StorageState | null>
}

export function createStateKeeper(store: Pick<LogStore, 'browsers'>, dataDir: string): StateKeeper {
  const key = keyOf(join(dataDir, 'browser-state.key'))
  return {
    async write(session_id, state) {
      const text = JSON.stringify(state)
      if (text.length > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} characters`)
      await store.browsers.keepState(session_id, seal(key, session_id, text), KEEP_MS)
    },
    async read(session_id) {
      const sealed = await store.browsers.state(session_id)
      const text = sealed === null ? null : unseal(key, session_id, sealed)
      return text === null ? null : (JSON.parse(text) as StorageState)
    },
  }
}

function keyOf(file: string): Buffer {
  // Whoever comes first makes it; `wx` lets only one.
  if (!existsSync(file)) writeFileSync(file, randomBytes(32), { mode: 0o600, flag: 'wx' })
  return readFileSync(file)
}

/** Bound to its session: a state that is moved to another row opens nothing. */
export function seal(key: Buffer, session_id: string, text: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(session_id))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
}

export function unseal(key: Buffer, session_id: string, sealed: string): string | null {
  const bytes = Buffer.from(sealed, 'base64')
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES))
    .setAAD(Buffer.from(session_id))
    .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  try {
    return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)).toString('utf8') + decipher.final('utf8')
  } catch {
    // Another key sealed it: of a data directory that is gone, or another replica's.
    return null
  }
}
