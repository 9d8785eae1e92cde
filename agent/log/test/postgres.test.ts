/**
 * The store on Postgres against the conformance suite of every log, on this code's schema or on that of a
 * newer program (newer-schema.ts).
 */
import { openPostgresStore } from '@cairn/log'
import { readMigrations } from '../src/postgres/migrate.ts'
import { defineLogConformance } from './conformance.ts'
import { newerMigrations, SUITE_SCHEMAS } from './newer-schema.ts'
import { borrowPostgresPlace, makePostgresPlace, runSql } from './postgres-place.ts'

const NAMES = {
  own: 'the store on Postgres',
  newer: 'the store on Postgres with the schema of a newer program',
}

for (const schema of SUITE_SCHEMAS) {
  const newer = schema === 'newer' ? newerMigrations('postgres', readMigrations()) : undefined
  defineLogConformance(NAMES[schema], {
    kind: 'shared',
    makePlace: ({ unopened }) => (unopened ? makePostgresPlace(newer) : borrowPostgresPlace(newer)),
    open: (place, options) => openPostgresStore({ url: place, ...options }),
    sql: runSql,
  })
}
