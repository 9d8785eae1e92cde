/** Ours, in the three ways it is run: over HTTP on either store, and the log alone. */
import { startScript } from '@cairn/log/bench/peers/children'
import type { HttpSpec } from '@cairn/log/bench/peers/http-driver'
import type { Peer } from '@cairn/log/bench/peers/peer'
import { makePrivatePostgres, querySql } from '@cairn/log/test/postgres-place'
import type { Start } from './service.ts'

const startService = (start: Start) => startScript<HttpSpec>(new URL('service.ts', import.meta.url), start)

export const ours: Peer = {
  name: 'Cairn over HTTP',
  acknowledged: 'on disk (SQLite, synchronous FULL)',
  install: '',
  appends: true,
  delivers: true,
  async start(dir) {
    const { ready: spec, pid, stop } = await startService({ dir, place: null })
    return { version: process.version, spec, pids: [pid], stop }
  },
}

export const oursOnPostgres: Peer = {
  name: 'Cairn over HTTP, on Postgres',
  acknowledged: 'on disk (fsync on)',
  install: 'npm install --include=optional, or apt-get install postgresql',
  appends: true,
  delivers: true,
  async start(dir) {
    const { place, server, remove } = await makePrivatePostgres()
    const [row] = await querySql(place, 'SHOW server_version')
    const { ready: spec, pid, stop } = await startService({ dir, place })
    return {
      version: `Postgres ${String(row?.['server_version'])}`,
      spec,
      pids: [pid, server.pid()],
      async stop() {
        await stop()
        await remove()
      },
    }
  },
}

export const oursInProcess: Peer = {
  name: 'Cairn, the log in process',
  acknowledged: 'on disk (SQLite, synchronous FULL)',
  install: '',
  appends: true,
  delivers: true,
  start: async dir => ({
    version: process.version,
    spec: { kind: 'embedded', dir },
    pids: [],
    stop: async () => undefined,
  }),
}
