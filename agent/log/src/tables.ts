/**
 * All tables of a store, by class. The class decides the keys of a table, and what moves with an
 * organisation.
 */
import { RESOURCES } from './resources/index.ts'

/**
 * organisation  belongs to one organisation: `org_key` is the first column of every key, no value comes from
 *               a counter of one database, and the rows can be copied by `org_key = …`
 * directory     finds the organisation of an id, a secret or an address; ids are unique across organisations
 * server        belongs to this database; never moved
 */
export type TableClass = 'organisation' | 'directory' | 'server'

/** Tables of the engine itself. */
const ENGINE = {
  sessions: 'organisation',
  events: 'organisation',
  event_positions: 'organisation',
  snapshots: 'organisation',
  lost_ids: 'organisation',
  search_progress: 'organisation',
  search_blocks: 'organisation',
  search_usage: 'organisation',
  directory: 'directory',
  schema_migrations: 'server',
  store_identity: 'server',
  losses: 'server',
  writers: 'server',
  agreements: 'server',
} as const satisfies Record<string, TableClass>

export const TABLES: Readonly<Record<string, TableClass>> = Object.assign(
  { ...ENGINE },
  ...Object.values(RESOURCES).map(({ tables }) => tables),
) as Record<string, TableClass>
