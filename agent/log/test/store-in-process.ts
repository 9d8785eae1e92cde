/**
 * The embedded store for tests of its users: on a copy of a migrated database, with the writer in this
 * process. A thread and the migrations for each test took half the processor time of the harness tests. The
 * tests of the store itself use the thread.
 */
import { EventEmitter } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { type LogStore, openSqliteStore, type SqliteStoreOptions } from '@cairn/log'
import { type Migration, newestOf } from '../src/engine/migrations.ts'
import { DATABASE } from '../src/sqlite/live-copy.ts'
import { migrate, readMigrations } from '../src/sqlite/migrate.ts'
import { runWriter } from '../src/sqlite/run-writer.ts'
import { openDb } from '../src/sqlite/adapter.ts'
import type { StartThread } from '../src/sqlite/writer-client.ts'
import { configureWriter } from '../src/sqlite/writer-connection.ts'

const startInProcess: StartThread = start => {
  const { port1: here, port2: there } = new MessageChannel()
  const thread = new EventEmitter()
  here.on('message', (message: unknown) => thread.emit('message', message))
  here.on('close', () => thread.emit('exit', 0))
  // The writer starts in a later turn, as a thread does, so that its errors find the listeners of the store.
  setImmediate(() => {
    try {
      runWriter(there, start)
    } catch (error) {
      thread.emit('error', error)
      here.close()
    }
  })
  return Object.assign(thread, {
    postMessage: (text: unknown) => here.postMessage(text, []),
    terminate() {
      here.close()
      return Promise.resolve(0)
    },
  })
}

/** Migrated databases of this process, by schema version. */
const templates = new Map<number, string>()

function migrated(migrations: readonly Migration[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-migrated-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const db = openDb(join(folder, DATABASE))
  configureWriter(db)
  migrate(db, migrations, Date.now())
  db.close()
  return join(folder, DATABASE)
}

/** Creates the database of a data directory with these migrations, unless it has one. */
export function copyMigrated(dir: string, migrations: readonly Migration[] = readMigrations()): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const path = join(dir, DATABASE)
  if (existsSync(path)) return
  const version = newestOf(migrations)
  const template = templates.get(version) ?? migrated(migrations)
  templates.set(version, template)
  copyFileSync(template, path)
}

export function openStoreInProcess(options: SqliteStoreOptions): Promise<LogStore> {
  copyMigrated(options.dir)
  return openSqliteStore({ startThread: startInProcess, ...options })
}

/** The same database with the writer in a thread, as in the service. */
export function openStoreInThread(options: SqliteStoreOptions): Promise<LogStore> {
  copyMigrated(options.dir)
  return openSqliteStore(options)
}
