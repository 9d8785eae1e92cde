/**
 * The embedded store against the conformance suite of every log, on this code's schema or on that of a newer
 * program (newer-schema.ts). With CAIRN_TESTS=all its writer runs in a
 * thread, as in the service. In `npm test` it runs in this process, because starting 180 threads takes longer
 * than the tests; opening.test.ts and durability.test.ts test what a thread adds.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RUN_ALL } from '@cairn/protocol/test/sample'
import { openDb } from '../src/sqlite/adapter.ts'
import { readMigrations } from '../src/sqlite/migrate.ts'
import { defineLogConformance } from './conformance.ts'
import { newerMigrations, SUITE_SCHEMAS } from './newer-schema.ts'
import { copyMigrated, openStoreInProcess, openStoreInThread } from './store-in-process.ts'

const open = RUN_ALL ? openStoreInThread : openStoreInProcess

const NAMES = { own: 'the embedded store', newer: 'the embedded store on the schema of a newer program' }

for (const schema of SUITE_SCHEMAS)
  defineLogConformance(NAMES[schema], {
    kind: 'exclusive',
    async makePlace() {
      const place = await mkdtemp(join(tmpdir(), 'cairn-log-'))
      if (schema === 'newer') copyMigrated(place, newerMigrations('sqlite', readMigrations()))
      return { place, remove: () => rm(place, { recursive: true, force: true }) }
    },
    open: (place, options) => open({ dir: place, ...options }),
    sql(place, text) {
      const db = openDb(join(place, 'cairn.db'))
      db.exec(text)
      db.close()
    },
  })
