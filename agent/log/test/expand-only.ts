/**
 * Whether a migration only adds to a schema, so that programs from before it still run. It reads the
 * statements that migrations here consist of; any other statement counts as a removal.
 */
import type { Migration } from '../src/engine/migrations.ts'
import { withoutComments } from '../src/engine/upgrade-plan.ts'

/** The statements, without semicolons; one in the body of a function ends nothing. */
const statementsOf = (sql: string): string[] =>
  (withoutComments(sql).match(/(?:\$\$[\s\S]*?\$\$|'(?:[^']|'')*'|[^;])+/g) ?? [])
    .map(statement => statement.trim().replaceAll(/\s+/g, ' '))
    .filter(statement => statement !== '')

/** The statements of a migration that programs from before it may not survive. */
export function removalsIn({ sql }: Pick<Migration, 'sql'>): string[] {
  const statements = statementsOf(sql)
  const tables = new Set(statements.flatMap(text => /^CREATE TABLE (\w+)/i.exec(text)?.[1] ?? []))
  const columns = new Set(
    statements.flatMap(text => {
      const [, table, column] = /^ALTER TABLE (\w+) ADD COLUMN (\w+)/i.exec(text) ?? []
      return table === undefined ? [] : [`${table}.${column}`]
    }),
  )
  return statements.filter(text => {
    const [, table = '', column = ''] =
      /^(?:UPDATE|INSERT INTO) (\w+)(?: SET (\w+) = [^,]*$)?/i.exec(text) ?? []
    const [, indexed = ''] = /^CREATE UNIQUE INDEX \w+ ON (\w+)/i.exec(text) ?? []
    return !(
      /^CREATE (?:TABLE|INDEX|FUNCTION) /i.test(text) ||
      // Older programs insert rows without the column.
      (/^ALTER TABLE \w+ ADD COLUMN /i.test(text) && (!/ NOT NULL/i.test(text) || / DEFAULT /i.test(text))) ||
      tables.has(indexed) ||
      tables.has(table) ||
      columns.has(`${table}.${column}`)
    )
  })
}

/** Each way in which the migrations of a store break the rule of docs/guides/upgrade.md. */
export function problemsOf(migrations: readonly Migration[]): string[] {
  return migrations.flatMap(({ name, oldestProgram, sql }, at) => {
    const before = migrations[at - 1]
    if (before === undefined) return []
    if (oldestProgram < before.oldestProgram)
      return [`${name} allows programs of schema version ${oldestProgram}, ${before.name} does not`]
    const removals = removalsIn({ sql })
    return removals.length > 0 && oldestProgram === before.oldestProgram
      ? [`${name} may break programs from before it and still allows them: ${removals.join('; ')}`]
      : []
  })
}
