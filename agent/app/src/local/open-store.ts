/**
 * The store of the service: the embedded one in the data directory, or the Postgres database that
 * DATABASE_URL names. Processes on one database must share the key that signs user tokens; they agree on it
 * here.
 */
import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { shareSigningKey } from '@cairn/api'
import {
  DirectoryInUse,
  InvalidDatabaseUrl,
  type LogStore,
  openPostgresStore,
  openSqliteStore,
  parsePostgresUrl,
  type PostgresAddress,
  type SharedLogStore,
  UnsafeServer,
} from '@cairn/log'
import { asError } from '@cairn/protocol'
import { InUseError, NotFoundError } from '../exit.ts'
import { ConfigError } from '../config/config-error.ts'
import { makePrivateDataDir } from './private-data-dir.ts'
import { prepareWorkspaces } from './workspaces-dir.ts'

type Environment = Readonly<Record<string, string | undefined>>
type Report = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void
type Opening = { redact?: (json: string) => string; report?: Report; readOnly?: boolean }
/** Options of a server, which also works in the workspaces. */
type Serving = Opening & { workspacesDir?: string }

export type Database = { url: string; address: PostgresAddress }

/** Null: the embedded store. */
export function databaseOf(env: Environment): Database | null {
  const url = env['DATABASE_URL']
  if (!url) return null
  try {
    return { url, address: parsePostgresUrl(url, env['DATABASE_SCHEMA'] || undefined) }
  } catch (error) {
    throw error instanceof InvalidDatabaseUrl ? new ConfigError('DATABASE_URL', [error.message]) : error
  }
}

/** The parts of the address that must not reach events or log lines. */
export function secretsOfDatabase(database: Database | null): string[] {
  if (database === null) return []
  const { password, searchParams } = new URL(database.url)
  return [decodeURIComponent(password), password, searchParams.get('password') ?? ''].filter(
    secret => secret !== '',
  )
}

export const openDatabase = (database: Database, options: Opening): Promise<SharedLogStore> =>
  explainDatabase(
    database,
    openPostgresStore({ url: database.url, schema: database.address.schema, ...options }),
  )

/** Converts errors of the driver or the server to errors that name the address and the fix. */
export async function explainDatabase<T>({ address }: Database, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof UnsafeServer) throw new ConfigError('DATABASE_URL', [error.message])
    const { code, message } = asError(error) as NodeJS.ErrnoException
    // Errors of the driver or the server (28: authentication, 3D: unknown database); others may be our bugs.
    if (code !== undefined && /^(?:E[A-Z]+|28...|3D...|57P..|53300)$/.test(code))
      throw new NotFoundError(
        `The database ${address.shown} cannot be used: ${message || code}. ` +
          'Check that it is running and that DATABASE_URL is correct.',
        { cause: error },
      )
    throw error
  }
}

async function openEmbedded(dataDir: string, options: Opening = {}): Promise<LogStore> {
  return openSqliteStore({
    dir: dataDir,
    ...(options.redact && { redact: options.redact }),
    ...(options.report && { report: options.report }),
  }).catch((error: unknown) => {
    throw error instanceof DirectoryInUse
      ? new InUseError(
          `The data directory ${dataDir} is in use by process ${error.holder}: stop that process, or ` +
            'set CAIRN_DATA to another directory.',
          { cause: error },
        )
      : error
  })
}

/**
 * Opens the store for a server, or for a command that acts in place of one, and initializes it on the first
 * use.
 */
export async function openStore(
  database: Database | null,
  dataDir: string,
  { workspacesDir, ...options }: Serving = {},
): Promise<LogStore> {
  makePrivateDataDir(dataDir)
  const shared = database === null ? null : await openDatabase(database, options)
  const store = shared ?? (await openEmbedded(dataDir, options))
  try {
    // This process now owns the embedded store, and with it the data directory.
    if (workspacesDir !== undefined) prepareWorkspaces(dataDir, workspacesDir, options.report)
    if (shared !== null) await agree(shared, dataDir, workspacesDir, options.report)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

async function agree(
  store: SharedLogStore,
  dataDir: string,
  workspacesDir: string | undefined,
  report: Report = () => {},
): Promise<void> {
  await shareSigningKey(dataDir, ours => store.agreeOn('signing_key', ours))
  const shared = async (name: string, directory: string): Promise<boolean> => {
    const ours = directoryId(directory)
    return (await store.agreeOn(name, ours)) === ours
  }
  const warn = (what: string, variable: string): void =>
    report(
      'warn',
      `other processes on this database keep their files elsewhere: only runners on this directory see ` +
        `${what}. Set ${variable} to one shared directory for all of them, see docs/postgres.md`,
    )
  if (!(await shared('data_directory', dataDir))) warn(`the files in ${dataDir}/checkpoints`, 'CAIRN_DATA')
  if (workspacesDir !== undefined && !(await shared('workspaces_directory', workspacesDir)))
    warn(`the files in ${workspacesDir}`, 'CAIRN_WORKSPACES')
}

/** Created with the directory, so that processes can detect whether they share it. */
function directoryId(directory: string): string {
  const file = join(directory, 'directory-id')
  const own = `${file}.${randomUUID()}`
  writeFileSync(own, randomUUID(), { mode: 0o600 })
  try {
    linkSync(own, file)
  } catch (error) {
    // Another process created it first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(own)
  }
  return readFileSync(file, 'utf8')
}
