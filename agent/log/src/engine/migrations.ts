/**
 * Migrations: numbered SQL files, which program may run on which schema, and the messages for a store that
 * this program cannot use.
 *
 * During a rolling upgrade, and after a rollback, an older program runs on the schema of a newer one. Each
 * migration states in its first line which programs can: `-- Oldest program: N` names the lowest schema
 * version whose program may still run. The store records it, so that the older program finds it there.
 */
import { readdirSync, readFileSync } from 'node:fs'

export type Migration = {
  version: number
  name: string
  sql: string
  /** The lowest schema version whose program may run on a store of this version. */
  oldestProgram: number
}

/** A row of schema_migrations. `oldest_program` is null if the program that applied it did not record it. */
export type AppliedMigration = { version: number; oldest_program: number | null }

/** What an operator can restore to go back to an older program. */
export type Copy = 'backup' | 'dump'

/** This program cannot use the store; the message names both versions and what to do. */
export class UnsupportedSchema extends Error {
  override readonly name = 'UnsupportedSchema'
}

/** The migrations in a directory, in order. */
export const readMigrationsIn = (directory: URL): Migration[] =>
  readdirSync(directory)
    .filter(name => /^\d{4}_.+\.sql$/.test(name))
    .toSorted()
    .map(name => parseMigration(name, readFileSync(new URL(name, directory), 'utf8')))

export function parseMigration(name: string, sql: string): Migration {
  const version = Number(name.slice(0, 4))
  const oldestProgram = Number(/^-- Oldest program: (\d+)\b/.exec(sql)?.[1])
  if (!(oldestProgram >= 1 && oldestProgram <= version))
    throw new Error(
      `[migrate] ${name} does not state which programs may run on its schema: its first line must be ` +
        `"-- Oldest program: N", where N is a schema version from 1 to ${version}`,
    )
  return { version, name, sql, oldestProgram }
}

export const newestOf = (versions: readonly { version: number }[]): number => versions.at(-1)?.version ?? 0

/**
 * The lowest schema version whose program may run on a store with these migrations beyond `known`. Null if
 * one of them does not state it.
 */
function oldestProgramBeyond(applied: readonly AppliedMigration[], known: number): number | null {
  const stated = applied.filter(({ version }) => version > known).map(row => row.oldest_program)
  return stated.includes(null) ? null : Math.max(0, ...(stated as number[]))
}

/** Throws UnsupportedSchema if newer programs have migrated the store beyond what this program may run on. */
export function refuseNewer(applied: readonly AppliedMigration[], known: number, copy: Copy): void {
  const found = newestOf(applied)
  if (found <= known) return
  const oldest = oldestProgramBeyond(applied, known)
  if (oldest !== null && oldest <= known) return
  const [bound, program] =
    oldest === null
      ? ['does not state which older programs may run on it', 'the newer program']
      : [`needs a program that knows version ${oldest} or newer`, 'such a program']
  throw new UnsupportedSchema(
    `[migrate] the store has schema version ${found} and ${bound}. This program knows up to ${known}: start ` +
      `${program}, or restore a ${copy} from before the upgrade`,
  )
}

/** Throws UnsupportedSchema for a store whose keys do not begin with the organisation. */
export function refuseOlderNumbering(found: number, known: number): never {
  throw new UnsupportedSchema(
    `[migrate] the store has version ${found} of the older numbering of schemas, this program has version ` +
      `${known} of the present one and cannot read that store: start the program that wrote it, or use an ` +
      'empty data directory or schema',
  )
}

/** Throws UnsupportedSchema for a store that a program may read only after an upgrade. */
export function refuseOlder(place: string, found: number, known: number): never {
  throw new UnsupportedSchema(
    `[migrate] ${place} has schema version ${found}, this program needs ${known}: start the server once to ` +
      'upgrade it',
  )
}
