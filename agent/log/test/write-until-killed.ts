/**
 * A child for durability.test.ts: commits endlessly from several callers, and prints each id after its
 * acknowledgement.
 */
import { writeSync } from 'node:fs'
import { openSqliteStore } from '@cairn/log'
import { newSession, thought } from './conformance/fixture.ts'

const [dir = '', text = 'x'] = process.argv.slice(2)
const store = await openSqliteStore({ dir })
if ((await store.sessions.get('s')) === null) await store.sessions.create(newSession('s'))
writeSync(1, 'ready\n')
await Promise.all(
  Array.from({ length: 8 }, async () => {
    for (;;) {
      try {
        const { events } = await store.commit({
          session_id: 's',
          events: [thought(text), thought(text), thought(text)],
        })
        // One write per commit: what the parent reads was acknowledged, whatever happens to this process
        // next.
        writeSync(1, events.map(event => `${event.id}\n`).join(''))
      } catch (error) {
        writeSync(1, `failed ${(error as Error).name} ${(error as Error & { code?: string }).code ?? ''}\n`)
        return
      }
    }
  }),
)
await store.close().catch((error: unknown) => writeSync(1, `close failed: ${String(error)}\n`))
