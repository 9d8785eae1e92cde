/**
 * A resource: rows beside the log that change in the commits of sessions. Each has a folder in `resources/`
 * and one row in RESOURCES, through which the engine, both stores and `doctor` reach it. The engine knows no
 * resource by name.
 */
import type { EventType } from '@cairn/protocol'
import type { Database, Rows, Statement, Value } from '../postgres/connections.ts'
import type { Db } from '../sqlite/adapter.ts'
import type { Redact } from './redact.ts'
import type { StoredSession } from './session-rows.ts'

/**
 * organisation  belongs to one organisation: `org_key` is the first column of every key, no value comes from
 *               a counter of one database, and the rows can be copied by `org_key = …`
 * directory     finds the organisation of an id, a secret or an address; ids are unique across organisations
 * server        belongs to this database; never moved
 */
export type TableClass = 'organisation' | 'directory' | 'server'

export type AnyChange = { readonly do: string }
export type ChangeNamed<C extends AnyChange, D extends C['do']> = Extract<C, { do: D }>

/** A row as a statement returns it, which may have its key; callers of the store never see that. */
export type Keyed<T> = T & { org_key?: number }

/** The session that a change belongs to, and its commit. */
export type ChangeContext = {
  row: StoredSession
  /** Time of the commit, epoch milliseconds. */
  at: number
  /** Id of the commit's first event. */
  first: number
}

/** Facts of a change that hold on every store. `C` is what a caller asks for, `E` what the store gets. */
type ChangeFacts<C extends AnyChange, E extends AnyChange> = {
  /** Roots of the trees whose rows it changes; Postgres locks them before the first change of a batch. */
  trees?: (change: E) => readonly string[]
} & (C extends E
  ? { redact?: (change: C, redact: Redact, event: number) => E }
  : { redact: (change: C, redact: Redact, event: number) => E })

/** Ids of the inbox items that a change created or changed; most changes return none. */
type ChangedIds = readonly string[] | void
/** An inbox item that was created or changed, and when, by the server's clock. */
export type ChangedItem = { id: string; at: number }

/** Throws Refusing to reject the commit. */
export type SqliteChanges<E extends AnyChange> = {
  [D in E['do']]: (change: ChangeNamed<E, D>, context: ChangeContext) => ChangedIds
}
export type Ask = (statement: Statement, values: readonly Value[]) => Promise<Rows>
export type PostgresChanges<E extends AnyChange> = {
  [D in E['do']]: (
    ask: Ask,
    change: ChangeNamed<E, D>,
    context: ChangeContext,
  ) => Promise<readonly ChangedItem[] | void>
}

/** A parameter or column of a statement that is identical on both stores. */
export type NamedValue = string | number | null
export type AskNamed<Name extends string = string> = (
  statement: Name,
  values: readonly NamedValue[],
) => Promise<Record<string, unknown>[]>
/** Statements that are identical on both stores, by name, with `$1`, `$2`, … as parameters. */
export type NamedSql<Name extends string = string> = {
  /** Begins the names under which Postgres prepares them. */
  prefix: string
  text: Readonly<Record<Name, string>>
  /** Read-only ones; on the embedded store the others run on the writer. */
  reads: readonly Name[]
}

/** Notifies watchers of an inbox item that was created or changed. */
type ItemChanged = (orgId: string, itemId: string) => void

/** The writes of a resource outside commits, on the writer's connection. */
type SqliteWrites = Record<string, (at: number, ...args: never[]) => unknown>
export type SqliteDeps = {
  /** For reading. */
  db: Db
  now: () => number
  /** Runs one of the resource's writes. */
  write(method: string, ...args: unknown[]): Promise<unknown>
  ask: AskNamed
}
export type PostgresDeps = {
  /** For reading. */
  db: Database
  /** Runs one statement that writes; rejected if the store was opened for reading only. */
  write(statement: Statement, values: readonly Value[], options?: { repeatable?: boolean }): Promise<Rows>
  now: () => number
  ask: AskNamed
  itemChanged(orgId: string, item: ChangedItem): void
}

/** Checks the rows of a resource against the logs, for `cairn doctor`. */
export type ResourceCheck = {
  /** Call for each session. */
  begin?(session: string): void
  /** Call for each event of each log, in log order. */
  see?(session: string, id: number, type: EventType, data: Readonly<Record<string, unknown>>): void
  /** Call after all logs; each problem is a sentence that names the correct value. */
  problems(rows: Readonly<Record<string, readonly unknown[]>>): string[]
}

/** Reads without the promise: the embedded store answers at once, on the connection of the caller. */
export type Sync<R extends object> = {
  [K in keyof R]: R[K] extends (...args: infer A) => Promise<infer T> ? (...args: A) => T : never
}

/**
 * `C` is the union of its changes, and `E` the same as the stores get them. `R` has its reads, and `W` what
 * also writes outside commits; together they are its part of the store.
 */
export type Resource<
  C extends AnyChange,
  R extends object,
  E extends AnyChange = C,
  W extends object = object,
> = {
  /** What is stored, with the class of each table. */
  tables: Readonly<Record<string, TableClass>>
  changes: { [D in C['do']]: ChangeFacts<ChangeNamed<C, D>, ChangeNamed<E, D>> }
  /** Statements that both stores run as they are. */
  sql?: NamedSql
  sqlite: {
    /** Prepared once, on the writer's connection. */
    changes(db: Db): SqliteChanges<E>
    writes?(db: Db, itemChanged: ItemChanged): SqliteWrites
    reads(db: Db, now: () => number): Sync<R>
  } & (keyof W extends never ? { store?(deps: SqliteDeps): W } : { store(deps: SqliteDeps): W })
  postgres: {
    changes: PostgresChanges<E>
    store(deps: PostgresDeps): R & W
  }
  check?: {
    /** The queries whose rows it needs. */
    rows: Readonly<Record<string, string>>
    create(): ResourceCheck
  }
}
