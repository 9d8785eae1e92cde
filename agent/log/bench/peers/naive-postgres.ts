import { makePrivatePostgres, querySql } from '../../test/postgres-place.ts'
import { startScript } from './children.ts'
import type { Peer } from './peer.ts'
import { TABLES } from './postgres-driver.ts'

export const naivePostgres: Peer = {
  name: 'a table in Postgres, NOTIFY per insert',
  acknowledged: 'on disk (fsync on)',
  install: 'npm install --include=optional, or apt-get install postgresql',
  appends: true,
  delivers: true,
  async start() {
    const { place, schema, server, remove } = await makePrivatePostgres()
    await querySql(place, `CREATE SCHEMA ${schema}`)
    await querySql(place, TABLES)
    const [row] = await querySql(place, 'SHOW server_version')
    const url = new URL(place)
    url.searchParams.delete('schema')
    const fanOut = await startScript<number>(new URL('naive-fan-out.ts', import.meta.url), {
      url: url.href,
      schema,
    })
    return {
      version: String(row?.['server_version']),
      spec: { kind: 'postgres', url: url.href, schema, fanOutPort: fanOut.ready },
      pids: [server.pid(), fanOut.pid],
      async stop() {
        await fanOut.stop()
        await remove()
      },
    }
  },
}
