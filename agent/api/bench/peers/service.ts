/**
 * The whole service for the comparison, in a process of its own: authentication, validation and the log, on
 * either store. Started as a child with a Start in argv; sends the HttpSpec by which the load generator
 * reaches it.
 */
import { openPostgresStore, openSqliteStore } from '@cairn/log'
import type { HttpSpec } from '@cairn/log/bench/peers/http-driver'
import { openService } from '../open-service.ts'

/** `place`: a Postgres store; without it the embedded one, in `dir`. */
export type Start = { dir: string; place: string | null }

const SESSIONS = 64
const { dir, place } = JSON.parse(process.argv[2] ?? '{}') as Start
const store = place === null ? await openSqliteStore({ dir }) : await openPostgresStore({ url: place })
const { port, token, newSession } = await openService(store, dir)
const sessions = await Promise.all(Array.from({ length: SESSIONS }, newSession))
const spec: HttpSpec = {
  kind: 'http',
  port,
  headers: { authorization: `Bearer ${token}` },
  post: sessions.map(id => `/v1/sessions/${id}/messages`),
  field: 'content',
  get: `/v1/sessions/${sessions[0]}/events?after=`,
  head: `/v1/sessions/${sessions[0]}`,
}
process.send?.(spec)
process.on('disconnect', () => process.exit(0))
