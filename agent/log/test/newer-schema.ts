/**
 * Schemas that a newer program has migrated. This program runs on them during a rolling upgrade and after a
 * rollback, so its conformance suite must pass there.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { oneIn } from '@cairn/protocol/test/sample'
import { type Migration, newestOf, parseMigration, readMigrationsIn } from '../src/engine/migrations.ts'

type StoreKind = 'sqlite' | 'postgres'
const COLUMN: Record<StoreKind, string> = { sqlite: 'INTEGER', postgres: 'BIGINT' }
const END: Record<StoreKind, string> = { sqlite: ') STRICT', postgres: ')' }
/** Folders of migrations in a package of both commands. */
export const MIGRATION_FOLDERS: Record<StoreKind, string> = {
  sqlite: 'migrations',
  postgres: 'migrations-postgres',
}

/** The folder with the migrations of a newer package, whose schemas the suite then runs on. */
const NEWER = process.env['CAIRN_NEWER_MIGRATIONS']

/**
 * The next migration as a later version may add it: a nullable column for every table, a new table and an
 * index. A migration that removes something states its own version as the oldest program.
 */
export function nextMigration(
  store: StoreKind,
  own: readonly Pick<Migration, 'version' | 'sql'>[],
  oldestProgram: number = newestOf(own),
): { name: string; sql: string } {
  const version = newestOf(own) + 1
  const tables = own.flatMap(({ sql }) => [...sql.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name]) => name))
  return {
    name: `${String(version).padStart(4, '0')}_next.sql`,
    sql: `-- Oldest program: ${oldestProgram}
${tables.map(table => `ALTER TABLE ${table} ADD COLUMN next_${version} ${COLUMN[store]};`).join('\n')}
CREATE TABLE next_rows_${version} (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  next_at ${COLUMN[store]},
  PRIMARY KEY (org_key, id)
${END[store]};
CREATE INDEX next_rows_${version}_by_time ON next_rows_${version} (org_key, next_at);
`,
  }
}

/** The migrations in a folder, such as that of a package. */
export const readMigrationFolder = (folder: string): Migration[] =>
  readMigrationsIn(pathToFileURL(`${folder}/`))

/** `own` has this code's migrations, followed by the given newer ones or by the next one. */
export function newerMigrations(store: StoreKind, own: readonly Migration[]): Migration[] {
  if (NEWER !== undefined) return readMigrationFolder(join(NEWER, MIGRATION_FOLDERS[store]))
  const { name, sql } = nextMigration(store, own)
  return [...own, parseMigration(name, sql)]
}

/** The schemas to run the suite on. Every commit runs it on one of both, CAIRN_TESTS=all on both. */
export const SUITE_SCHEMAS: readonly ('own' | 'newer')[] =
  NEWER === undefined ? oneIn(2, ['own', 'newer']) : ['newer']
