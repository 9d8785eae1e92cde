/**
 * A table as many make it: an insert and a NOTIFY a message, in one transaction, numbered by a counter of the
 * session.
 */
import { Client } from 'pg'
import type { Driver } from './driver.ts'
import { httpDriver } from './http-driver.ts'

/**
 * `fanOutPort` is that of naive-fan-out.ts: a thousand readers are not a thousand connections to a database.
 */
export type PostgresSpec = { kind: 'postgres'; url: string; schema: string; fanOutPort: number }

export const CHANNEL = 'naive'
const INSERT =
  'WITH head AS (UPDATE naive_heads SET head = head + 1 WHERE session = $1 RETURNING head), written AS ' +
  '(INSERT INTO naive SELECT $1, head, $2 FROM head RETURNING id)\n' +
  `  SELECT id, pg_notify('${CHANNEL}', $1::text || ' ' || $2) FROM written`
export const TABLES =
  'CREATE TABLE naive (session INT, id BIGINT, json TEXT, PRIMARY KEY (session, id)); CREATE TABLE ' +
  'naive_heads (session INT PRIMARY KEY, head BIGINT);\n' +
  '  INSERT INTO naive_heads SELECT n, 0 FROM generate_series(0, 63) n'

export async function connectPostgres({
  url,
  schema,
}: Pick<PostgresSpec, 'url' | 'schema'>): Promise<Client> {
  const client = new Client({ connectionString: url, options: `-c search_path=${schema}` })
  await client.connect()
  return client
}

export function postgresDriver(spec: PostgresSpec): Driver {
  return {
    async openWriter(stream) {
      const client = await connectPostgres(spec)
      let last: Promise<unknown> = Promise.resolve()
      return {
        async write(text) {
          last = last.then(() => client.query({ name: 'insert', text: INSERT, values: [stream, text] }))
          await last
        },
        close: () => void client.end(),
      }
    },
    openReader: httpDriver({
      kind: 'http',
      port: spec.fanOutPort,
      headers: {},
      post: ['/'],
      field: null,
      get: '/',
    }).openReader,
  }
}
