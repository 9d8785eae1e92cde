/**
 * Resources whose statements are identical on both stores and run by name. Each operation is one statement,
 * so that processes that share a database need no lock between them. Callers supply the time.
 */
import type { Statement } from '../postgres/connections.ts'
import type { Db, Statement as Prepared } from '../sqlite/adapter.ts'
import type { Refusing } from './refusing.ts'
import type {
  AnyChange,
  AskNamed,
  ChangeContext,
  ChangeNamed,
  NamedSql,
  NamedValue,
  PostgresChanges,
  Resource,
  SqliteChanges,
} from './resource.ts'

/** Runs a statement and returns all rows, one row, nothing, or whether a row was affected. */
export function createAsking<Name extends string>(ask: AskNamed<Name>) {
  const all = async <T>(name: Name, ...values: NamedValue[]): Promise<T[]> =>
    (await ask(name, values)).map(({ org_key: _, ...row }) => row as T)
  const one = async <T>(name: Name, ...values: NamedValue[]): Promise<T | null> =>
    (await all<T>(name, ...values))[0] ?? null
  const act = async (name: Name, ...values: NamedValue[]): Promise<void> => void (await ask(name, values))
  const did = async (name: Name, ...values: NamedValue[]): Promise<boolean> =>
    (await ask(name, values)).length > 0
  return { ask, all, one, act, did }
}
export type Asking<Name extends string> = ReturnType<typeof createAsking<Name>>

/** Runs a statement by its name on one connection of the embedded store, prepared at its first use. */
export function runNamed(
  db: Db,
  { text }: NamedSql,
): (name: string, values: readonly NamedValue[]) => Record<string, unknown>[] {
  const prepared = new Map<string, Prepared>()
  return (name, values) => {
    let statement = prepared.get(name)
    if (statement === undefined) prepared.set(name, (statement = db.prepare(text[name] ?? name)))
    return statement.all(Object.fromEntries(values.map((value, at) => [`$${at + 1}`, value])))
  }
}

/** The statement of that name, for a driver that prepares by name; names of all resources are distinct. */
export const namedStatement = ({ prefix, text }: NamedSql, name: string): Statement => ({
  name: `${prefix}_${name}`,
  text: text[name] ?? name,
})

/** The guard of a change as a statement that affects a row; if it affects none, the change is rejected. */
export type Guard<Name extends string> = {
  name: Name
  values: readonly NamedValue[]
  refusing: () => Refusing
}
type Guards<C extends AnyChange, Name extends string> = {
  [D in C['do']]: (change: ChangeNamed<C, D>, context: ChangeContext) => Guard<Name>
}

/** What both stores do for such a resource. */
export function onBothStores<C extends AnyChange, S extends object, Name extends string>(
  sql: NamedSql<Name>,
  guards: Guards<C, Name>,
  store: (ask: AskNamed<Name>, now: () => number) => S,
): Pick<Resource<C, object, C, S>, 'sql' | 'sqlite' | 'postgres'> {
  const guardOf = (change: C, context: ChangeContext): Guard<Name> =>
    (guards[change.do as C['do']] as (change: C, context: ChangeContext) => Guard<Name>)(change, context)
  const names = Object.keys(guards) as C['do'][]
  const sqliteChanges = (db: Db): SqliteChanges<C> => {
    const run = runNamed(db, sql)
    const change = (change: C, context: ChangeContext): void => {
      const { name, values, refusing } = guardOf(change, context)
      if (run(name, values).length === 0) throw refusing()
    }
    return Object.fromEntries(names.map(name => [name, change])) as object as SqliteChanges<C>
  }
  const postgresChange: PostgresChanges<C>[C['do']] = async (ask, change, context) => {
    const { name, values, refusing } = guardOf(change as C, context)
    if ((await ask(namedStatement(sql, name), values)).length === 0) throw refusing()
  }
  return {
    sql,
    sqlite: { changes: sqliteChanges, reads: () => ({}), store: ({ ask, now }) => store(ask, now) },
    postgres: {
      changes: Object.fromEntries(names.map(name => [name, postgresChange])) as object as PostgresChanges<C>,
      store: ({ ask, now }) => store(ask, now),
    },
  }
}
