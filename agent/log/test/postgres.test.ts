/** The store on Postgres against the conformance suite of every log. */
import { openPostgresStore } from '@cairn/log'
import { defineLogConformance } from './conformance.ts'
import { borrowPostgresPlace, makePostgresPlace, runSql } from './postgres-place.ts'

defineLogConformance('the store on Postgres', {
  kind: 'shared',
  makePlace: ({ unopened }) => (unopened ? makePostgresPlace() : borrowPostgresPlace()),
  open: (place, options) => openPostgresStore({ url: place, ...options }),
  sql: runSql,
})
