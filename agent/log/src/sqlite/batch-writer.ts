/**
 * One transaction for all waiting requests: natural group commit. A request that is rejected or fails undoes
 * only itself. A failed COMMIT fails the whole batch; none of it is acknowledged, and the next batch starts
 * clean.
 */
import { type Applied, applyCommit, insertSession } from './apply-commit.ts'
import { Refusing } from '../engine/refusing.ts'
import { type CommitSql, prepareCommitSql } from './commit-sql.ts'
import { claim, FIRST, release, renew, type Round } from './leases.ts'
import { preparePrune } from './prune.ts'
import { createSessionCache, type SessionCache } from './session-cache.ts'
import type { StoredSession } from '../engine/session-rows.ts'
import { prepareSaveSnapshot } from './snapshots.ts'
import { type Db, isStorageFailure } from './adapter.ts'
import { runNamed } from '../engine/named-sql.ts'
import type { Answer, CallAnswer, CommitAnswer, Request } from '../engine/writer-messages.ts'
import { mapResources } from '../resources/index.ts'

export type Transactional = Exclude<Request, { do: 'close' }>

const failure = (error: unknown): Answer => [
  'failed',
  error instanceof Error ? error.message : String(error),
  isStorageFailure(error),
]

/** The smallest possible write, to the file's header; nothing reads the number. */
function probe(db: Db): null {
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  db.exec(`PRAGMA user_version = ${(user_version + 1) % 2 ** 31}`)
  return null
}

function create(
  sql: CommitSql,
  sessions: SessionCache,
  { at, session, config }: Extract<Request, { do: 'create' }>,
): StoredSession {
  if (sessions.load(session.id, at) !== null)
    throw new Error(`[createSession] session ${session.id} exists already`)
  return insertSession(sql, sessions, at, { session, config })
}

/** The writes of all resources outside commits. */
function prepareCalls(db: Db): (request: Extract<Request, { do: 'call' }>) => CallAnswer {
  let items: NonNullable<CallAnswer['items']> = []
  const writes = mapResources(({ sqlite }) =>
    sqlite.writes?.(db, (orgId, itemId) => void items.push([orgId, itemId])),
  )
  return ({ resource, method, at, args }) => {
    items = []
    const write = writes[resource]?.[method] as ((at: number, ...args: unknown[]) => unknown) | undefined
    if (write === undefined) throw new Error(`[store] ${resource} has no write named ${method}`)
    const value = write(at, ...args)
    return items.length === 0 ? { value } : { value, items }
  }
}

/**
 * `db` must be the only writing connection. Answers have the order of the requests and are returned once the
 * batch is on disk.
 */
export function createBatchWriter(db: Db): (requests: readonly Transactional[]) => Answer[] {
  const sql = prepareCommitSql(db)
  const sessions = createSessionCache(sql)
  const prune = preparePrune(db)
  const saveSnapshot = prepareSaveSnapshot(db)
  const call = prepareCalls(db)
  const named = mapResources(({ sql }) => (sql === undefined ? null : runNamed(db, sql)))
  const principals: Round = { after: FIRST }
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const savepoint = db.prepare('SAVEPOINT request')
  const keep = db.prepare('RELEASE request')

  function perform(request: Transactional): unknown {
    switch (request.do) {
      case 'commit': {
        const { session, ...applied }: Applied = applyCommit(sql, sessions, request)
        // Inbox watchers are found through the organisation of the session.
        const isLookedAt = request.without_session !== true || applied.items !== undefined
        return isLookedAt ? { ...applied, session: sessions.pack(session) } : (applied satisfies CommitAnswer)
      }
      case 'create':
        return create(sql, sessions, request)
      case 'claim':
        return claim(sql, sessions, request, principals)
      case 'renew':
        return renew(sessions, request)
      case 'release':
        return release(sessions, request)
      case 'prune':
        return prune(sessions, request.before, request.after)
      case 'snapshot':
        return saveSnapshot(sessions, request.at, request.session_id, request.snapshot)
      case 'probe':
        return probe(db)
      case 'named':
        return named[request.resource]?.(request.name, request.values)
      case 'call':
        return call(request)
    }
  }

  function answerOne(request: Transactional): Answer {
    // Before the savepoint: undoing this request must not undo changes of earlier ones in the batch.
    if (request.do !== 'commit') sessions.flush()
    savepoint.run()
    try {
      const value = perform(request)
      keep.run()
      return ['done', value]
    } catch (error) {
      // A full disk may have ended the whole transaction: then the batch fails, not this request.
      if (!db.isTransaction) throw error
      db.exec('ROLLBACK TO request; RELEASE request')
      if (!(error instanceof Refusing)) return failure(error)
      const { refusal, detail, session, item } = error
      return ['refused', { refusal, detail, session, item }]
    }
  }

  return requests => {
    try {
      begin.run()
      const answers = requests.map(answerOne)
      sessions.flush()
      commit.run()
      return answers
    } catch (error) {
      sessions.forget()
      if (db.isTransaction) db.exec('ROLLBACK')
      const failed = failure(error)
      return requests.map(() => failed)
    }
  }
}
