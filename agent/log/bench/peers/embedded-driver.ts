/** Our log without the service, in the load generator's own process: what HTTP costs is the difference. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openSqliteStore, tail } from '@cairn/log'
import { draftOf, makeSessions } from '../append.ts'
import type { Driver } from './driver.ts'

export type EmbeddedSpec = { kind: 'embedded'; dir: string }

export async function embeddedDriver({ dir: parent }: EmbeddedSpec): Promise<Driver> {
  const dir = mkdtempSync(join(parent, 'embedded-'))
  const store = await openSqliteStore({ dir })
  await makeSessions(store, 64)
  return {
    openWriter: async stream => ({
      write: async text =>
        void (await store.commit({ session_id: `session-${stream}`, events: [draftOf(text)] })),
      close: () => undefined,
    }),
    async openReader(onData) {
      const stop = new AbortController()
      void (async () => {
        for await (const page of tail(store, 'session-0', 0, stop.signal))
          for (const { json } of page) onData(Buffer.from(json))
      })()
      return { close: () => stop.abort() }
    },
    async close() {
      await store.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
