/**
 * The index of the embedded store: a separate database file, so that it never competes with commits. The log
 * is attached for reading. One thread uses it.
 *
 * A text is a row of `texts` whose rowid combines the session's position in the log's file and the event id:
 * newest sessions last, their events in order. FTS5 stores the words only, not their positions; an excerpt is
 * built from the event itself.
 */
import { readFileSync, rmSync } from 'node:fs'
import { assetBeside } from '@cairn/tooling/beside'
import { createReader } from '../reader.ts'
import { keepPrivate } from '../keep-private.ts'
import { type Db, isDamage, openDb } from '../adapter.ts'
import { createFinder } from './finder.ts'
import { createIndexWriter, createShapeReader } from './index-writer.ts'
import type { UsageQuery, UsageRow } from '../../resources/search/row.ts'

/** Increase when other words or totals are stored: the index is then rebuilt. */
const VERSION = 3

/** An index of another store or version, or one that is ahead of a restored log, is rebuilt. */
function isCurrent(db: Db): boolean {
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  if (user_version === 0) return false
  const [own] = db.prepare('SELECT store, version FROM made_for').all()
  const [store] = db.prepare('SELECT id FROM log.store_identity').all()
  if (own?.['store'] !== store?.['id'] || own?.['version'] !== VERSION) return false
  const ahead = db.prepare(`
    SELECT 1 FROM progress p LEFT JOIN log.sessions s ON s.pos = p.session_pos
    WHERE s.pos IS NULL OR p.through > s.last_id LIMIT 1`)
  return ahead.get() === undefined
}

function openIndex(path: string, log: string): Db {
  keepPrivate(path)
  const db = openDb(path)
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA cache_size = -32768;
    PRAGMA journal_size_limit = 67108864;
  `)
  db.prepare('ATTACH ? AS log').run(log)
  return db
}

function build(db: Db): void {
  db.exec('BEGIN')
  db.exec(readFileSync(assetBeside(import.meta, './search.sql'), 'utf8'))
  db.prepare('INSERT INTO made_for SELECT id, ? FROM log.store_identity').run(VERSION)
  db.exec('PRAGMA user_version = 1; COMMIT')
}

/** A damaged or foreign index is deleted: everything in it is in the log. */
function openFresh(path: string, log: string): Db {
  const remove = (): void => {
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
  }
  for (let again = true; ; again = false) {
    const db = openIndex(path, log)
    try {
      if (isCurrent(db)) return db
    } catch (error) {
      if (!isDamage(error)) throw error
    }
    const isNew = (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version === 0
    if (isNew || !again) {
      build(db)
      return db
    }
    db.close()
    remove()
  }
}

const COLUMNS = { agent: 'agent', user: 'created_by', model: 'model' } as const

export function openSqliteIndex(path: string, log: string) {
  const db = openFresh(path, log)
  const reader = createReader(db)
  return {
    logs: {
      read: async (...args: Parameters<typeof reader.read>) => reader.read(...args),
      getSession: async (id: string) => reader.getSession(id, 0),
    },
    ...createIndexWriter(db),
    shapes: createShapeReader(db),
    find: createFinder(db),
    usage({ org_id, created_by, since, until, by }: UsageQuery): UsageRow[] {
      const column = COLUMNS[by]
      return db
        .prepare(
          `
          SELECT day, ${column} AS name, sum(calls) AS calls, sum(input_tokens) AS input_tokens,
            sum(output_tokens) AS output_tokens, sum(cost_usd) AS cost_usd,
            sum(unpriced_calls) AS unpriced_calls
          FROM usage
          WHERE org_id = ?1 AND (?2 IS NULL OR created_by = ?2) AND day >= ?3 AND day < ?4
          GROUP BY day, ${column}
          ORDER BY day, ${column}`,
        )
        .all(org_id, created_by ?? null, since, until) as UsageRow[]
    },
    close: () => db.close(),
  }
}
export type SqliteIndex = ReturnType<typeof openSqliteIndex>
