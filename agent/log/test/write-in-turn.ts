/**
 * A child for synced.test.ts: commits one after the other, and prints a line as soon as each is acknowledged.
 */
import { writeSync } from 'node:fs'
import { openSqliteStore } from '@cairn/log'
import { newSession, thought } from './conformance/fixture.ts'

const [dir = '', count = '1'] = process.argv.slice(2)
const store = await openSqliteStore({ dir })
await store.sessions.create(newSession('s'))
writeSync(1, 'ready\n')
for (let n = 0; n < Number(count); n++) {
  const { last_id } = await store.commit({ session_id: 's', events: [thought('x')] })
  writeSync(1, `acknowledged ${last_id}\n`)
}
await store.close()
