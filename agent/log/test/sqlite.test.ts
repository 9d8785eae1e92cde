/** The embedded store against the suite that every log must pass. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '@cairn/log'
import { openDb } from '../src/sqlite-adapter.ts'
import { defineLogConformance } from './conformance.ts'

defineLogConformance('the embedded store', {
  kind: 'exclusive',
  async makePlace() {
    const place = await mkdtemp(join(tmpdir(), 'cairn-log-'))
    return { place, remove: () => rm(place, { recursive: true, force: true }) }
  },
  open: (place, options) => openSqliteStore({ dir: place, ...options }),
  sql(place, text) {
    const db = openDb(join(place, 'cairn.db'))
    db.exec(text)
    db.close()
  },
})
