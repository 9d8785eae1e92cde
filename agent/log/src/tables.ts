/**
 * All tables of a store, by class. The class decides the keys of a table, and what moves with an
 * organisation.
 */
import type { TableClass } from './engine/resource.ts'
import { RESOURCES } from './resources/index.ts'

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
