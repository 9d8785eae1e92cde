/**
 * The embedded store against the suite that every log must pass. With CAIRN_TESTS=all its writer has a thread
 * of its own, as in the service. In `npm test` it runs in this process, because 180 threads take longer than
 * the tests; what a thread adds is tested by opening.test.ts and durability.test.ts.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RUN_ALL } from '@cairn/protocol/test/sample'
import { openDb } from '../src/sqlite-adapter.ts'
import { defineLogConformance } from './conformance.ts'
import { openStoreInProcess, openStoreInThread } from './store-in-process.ts'

const open = RUN_ALL ? openStoreInThread : openStoreInProcess

defineLogConformance('the embedded store', {
  kind: 'exclusive',
  async makePlace() {
    const place = await mkdtemp(join(tmpdir(), 'cairn-log-'))
    return { place, remove: () => rm(place, { recursive: true, force: true }) }
  },
  open: (place, options) => open({ dir: place, ...options }),
  sql(place, text) {
    const db = openDb(join(place, 'cairn.db'))
    db.exec(text)
    db.close()
  },
})
