/** The keys of all tables, as the database itself describes them, and the rule that they follow. */
import type { Db } from '../src/sqlite/adapter.ts'
import type { TableClass } from '../src/engine/resource.ts'

export type Key = {
  name: string
  columns: (string | null)[]
  /** An inverted index has no order of columns. */
  isOrdered: boolean
}
export type Table = {
  name: string
  keys: Key[]
  /** Columns whose values the database counts. */
  counted: string[]
  /** Tables that its foreign keys name. */
  references: string[]
}

/** The address of a row in a file of the embedded store, which is no key. */
const ADDRESS = 'pos'

/** The problems of a schema; an empty list follows the rule of tables.ts. */
export function problemsOf(
  tables: readonly Table[],
  classes: Readonly<Record<string, TableClass>>,
): string[] {
  return tables.flatMap(({ name, keys, counted, references }) => {
    const own = classes[name]
    if (own === undefined) return [`table ${name} is not in tables.ts`]
    const found = references
      .filter(other => classes[other] !== own)
      .map(other => `table ${name} of class ${own} names ${other} of class ${classes[other] ?? 'none'}`)
    if (own !== 'organisation') return found
    for (const key of keys)
      if (key.isOrdered && key.columns[0] !== 'org_key')
        found.push(`key ${key.name} of table ${name} begins with ${key.columns[0] ?? 'an expression'}`)
    for (const column of counted) found.push(`column ${name}.${column} is counted by the database`)
    return found
  })
}

type Named = { name: string }

export function readSqliteCatalogue(db: Db): Table[] {
  const all = <T>(sql: string, ...values: string[]): T[] => db.prepare(sql).all(...values) as unknown[] as T[]
  return all<Named & { sql: string }>(
    `SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`,
  ).map(({ name, sql }) => {
    const keys = all<Named>(`SELECT name FROM pragma_index_list(?)`, name).map(index => ({
      name: index.name,
      columns: all<{ name: string | null }>(
        `SELECT name FROM pragma_index_info(?) ORDER BY seqno`,
        index.name,
      ).map(column => column.name),
      isOrdered: true,
    }))
    const primary = all<Named>(`SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk`, name).map(
      column => column.name,
    )
    if (primary.length > 0 && primary[0] !== ADDRESS)
      keys.push({ name: 'PRIMARY KEY', columns: primary, isOrdered: true })
    return {
      name,
      keys,
      counted: /\bAUTOINCREMENT\b/i.test(sql) ? [primary[0] ?? 'rowid'] : [],
      references: all<{ table: string }>(`SELECT "table" FROM pragma_foreign_key_list(?)`, name).map(
        row => row.table,
      ),
    }
  })
}

const POSTGRES_TABLES = `
  SELECT c.relname AS name,
    array(
      SELECT json_build_object('name', i.relname, 'isOrdered', m.amname <> 'gin',
        'columns', array(
          SELECT a.attname FROM unnest(x.indkey::int[]) WITH ORDINALITY AS k (attnum, nth)
          LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
          ORDER BY k.nth))
      FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_am m ON m.oid = i.relam
      WHERE x.indrelid = c.oid
    ) AS keys,
    array(
      SELECT a.attname::text FROM pg_attribute a
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
      WHERE a.attrelid = c.oid AND a.attnum > 0
        AND (a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%')
    ) AS counted,
    array(
      SELECT f.relname::text FROM pg_constraint o JOIN pg_class f ON f.oid = o.confrelid
      WHERE o.conrelid = c.oid AND o.contype = 'f'
    ) AS references
  FROM pg_class c
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
  ORDER BY c.relname`

export const readPostgresCatalogue = async (
  query: (sql: string) => Promise<Record<string, unknown>[]>,
): Promise<Table[]> => (await query(POSTGRES_TABLES)) as Table[]

/** Every column, key and function of the schema, one a line, as the database describes it. */
export const POSTGRES_SCHEMA = `
  SELECT line FROM (
    SELECT 1 AS part, c.relname::text AS place, a.attnum::int AS nth,
      format('COLUMN %s.%s %s%s%s;', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
        coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')) AS line
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
    UNION ALL
    SELECT 2, i.indexname::text, 0,
      replace(i.indexdef, current_schema() || '.', '') || ';'
    FROM pg_indexes i WHERE i.schemaname = current_schema()
    UNION ALL
    SELECT 3, o.conname::text, 0,
      format('CONSTRAINT %s.%s %s;', o.conrelid::regclass, o.conname, pg_get_constraintdef(o.oid))
    FROM pg_constraint o WHERE o.connamespace = current_schema()::regnamespace AND o.contype = 'f'
    UNION ALL
    SELECT 4, p.proname::text, 0,
      format('FUNCTION %s(%s): %s;', p.proname, pg_get_function_arguments(p.oid), trim(p.prosrc))
    FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace
  ) lines ORDER BY part, place COLLATE "C", nth`
