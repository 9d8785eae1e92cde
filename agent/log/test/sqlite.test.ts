/**
 * The embedded store against the conformance suite of every log. With CAIRN_TESTS=all its writer runs in a
 * thread, as in the service. In `npm test` it runs in this process, because starting 180 threads takes longer
 * than the tests; opening.test.ts and durability.test.ts test what a thread adds.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RUN_ALL } from '@cairn/protocol/test/sample'
import { openDb } from '../src/sqlite/adapter.ts'
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
