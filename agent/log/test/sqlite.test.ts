/** The embedded store against the suite that every log must pass. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '@cairn/log'
import { afterAll } from 'vitest'
import { migrate, readMigrations } from '../src/migrate.ts'
import { openDb } from '../src/sqlite-adapter.ts'
import { defineLogConformance } from './conformance.ts'

// The migrations run once; opening.test.ts opens stores where there is nothing.
const migrated = mkdtempSync(join(tmpdir(), 'cairn-log-migrated-'))
afterAll(() => rmSync(migrated, { recursive: true, force: true }))
const template = join(migrated, 'cairn.db')
const db = openDb(template)
migrate(db, readMigrations(), 0)
db.close()

defineLogConformance('the embedded store', {
  kind: 'exclusive',
  async makePlace() {
    const place = await mkdtemp(join(tmpdir(), 'cairn-log-'))
    copyFileSync(template, join(place, 'cairn.db'))
    return { place, remove: () => rm(place, { recursive: true, force: true }) }
  },
  open: (place, options) => openSqliteStore({ dir: place, ...options }),
  sql(place, text) {
    const db = openDb(join(place, 'cairn.db'))
    db.exec(text)
    db.close()
  },
})
