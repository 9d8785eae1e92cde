/** Migrations: numbered SQL files, and the messages for a store that other code has written. */
import { readdirSync, readFileSync } from 'node:fs'

export type Migration = { version: number; name: string; sql: string }

/** The migrations in a directory, in order. */
export const readMigrationsIn = (directory: URL): Migration[] =>
  readdirSync(directory)
    .filter(name => /^\d{4}_.+\.sql$/.test(name))
    .toSorted()
    .map(name => ({
      version: Number(name.slice(0, 4)),
      name,
      sql: readFileSync(new URL(name, directory), 'utf8'),
    }))

/** The message for a store whose keys do not begin with the organisation. */
export const olderNumbering = (found: number, known: number): string =>
  `[migrate] the store has version ${found} of the older numbering of schemas, this program has version ` +
  `${known} of the present one and cannot read that store: start the program that wrote it, or use an ` +
  'empty data directory or schema'

/** The message for a store that a newer program has migrated. `copy`: what an older program can restore. */
export const newerSchema = (found: number, known: number, copy: 'backup' | 'dump'): string =>
  `[migrate] the store has schema version ${found}, this program knows up to ${known}: start the ` +
  `newer program, or restore a ${copy} from before the upgrade`
