/**
 * Runs a batch of commits in one transaction, in two round trips if no commit changes rows of its own: lock
 * all sessions, decide here, write everything and COMMIT. A rejected commit undoes only itself.
 */
import type { Client } from 'pg'
import {
  bringsWork,
  guard,
  guardPart,
  isoStamp,
  nextEvent,
  type CommitPart,
  reopens,
  settle,
} from '../engine/commit-rules.ts'
import { composeRecord } from '../engine/record-text.ts'
import { Refusing } from '../engine/refusing.ts'
import type { StoredSession } from '../engine/session-rows.ts'
import type { StoredEvent } from '../store.ts'
import type { NewSession } from '../session.ts'
import type { CommitRequest, EncodedEvent } from '../engine/writer-messages.ts'
import { type EncodedRow, mergeChanges, treesOf } from '../resources/index.ts'
import { LOCK_TREES } from '../resources/links/postgres.ts'
import { bound, type Rows, type Statement, type Value } from './connections.ts'
import { isKeyTaken, isLost } from './failures.ts'
import type { Ask, ChangeContext, ChangedItem } from '../engine/resource.ts'
import {
  insertSession,
  LOCK_SESSIONS,
  type Moved,
  type NewEvents,
  noEvents,
  PENDING_OF_SESSIONS,
  toStored,
  WAITING,
  WRITE_BATCH,
  writeBatchValues,
} from './session-sql.ts'

type ApplyChange = (
  ask: Ask,
  change: EncodedRow,
  context: ChangeContext,
) => Promise<readonly ChangedItem[] | void>
/** By the name of the change. */
const CHANGES = mergeChanges(({ postgres }) => postgres.changes) as Record<EncodedRow['do'], ApplyChange>

type DonePart = {
  last: number
  reopened: boolean
  session: StoredSession
  work: boolean
  events: StoredEvent[]
  items: ChangedItem[]
}
export type Done = DonePart & { also: DonePart[] }
export type TransactionOutcome = { done: Done } | { refused: Refusing } | { failed: unknown }

/** COMMIT was sent and got no response: it may or may not have been committed. */
export class FateUnknown extends Error {
  override readonly name = 'FateUnknown'
  /** The results for the callers if it was committed. */
  readonly outcomes: TransactionOutcome[]
  constructor(outcomes: TransactionOutcome[], cause: unknown) {
    super('[commit] the connection was lost while the transaction was being committed', { cause })
    this.outcomes = outcomes
  }
}

/**
 * Locks this process's row until the transaction ends: after a lost connection, nothing can read past a
 * transaction that may still commit.
 */
const NUMBER_BATCH: Statement = {
  name: 'number_batch',
  text: `
    INSERT INTO writers (id, batch)
    VALUES ($1, $2)
    ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, seen_at = now()`,
}

export async function transact(
  client: Client,
  writerId: string,
  batch: number,
  requests: readonly CommitRequest[],
): Promise<TransactionOutcome[]> {
  const ask = async (statement: Statement, values: readonly Value[]): Promise<Rows> =>
    ((await client.query(bound(statement, values))) as { rows: Rows }).rows
  const ids = [...new Set(requests.flatMap(namedSessions))]
  const trees = [...new Set(requests.flatMap(namedTrees))]
  let sent = false
  const outcomes: TransactionOutcome[] = []
  try {
    const at = Math.max(...requests.map(request => request.at))
    const [, , locked, pending] = await Promise.all([
      client.query('BEGIN'),
      ask(NUMBER_BATCH, [writerId, batch]),
      ask(LOCK_SESSIONS, [ids]),
      ask(PENDING_OF_SESSIONS, [ids, at]),
    ])
    const waiting = new Map(pending.map(row => [row['id'], row['waiting'] as number | null]))
    const sessions = new Map(
      locked.map(toStored).map(row => [row.id, { ...row, waiting: waiting.get(row.id) ?? null }]),
    )
    // After the sessions and in a fixed order, so that two processes cannot deadlock.
    if (trees.length > 0) await ask(LOCK_TREES, [trees])
    const before = new Map(sessions)
    const events = noEvents()
    for (const request of requests) outcomes.push(await decide(ask, { sessions, before, events }, request))
    const moved: Moved[] = [...sessions.values()].flatMap(row => {
      const was = before.get(row.id)
      return was === undefined || was === row ? [] : [{ before: was, row }]
    })
    sent = true
    const [, commit] = await Promise.all([
      ask(WRITE_BATCH, writeBatchValues(events, moved)),
      client.query('COMMIT') as Promise<{ command: string }>,
    ])
    if (commit.command !== 'COMMIT')
      throw new Error(`[commit] the server answered COMMIT with ${commit.command}`)
    return outcomes
  } catch (error) {
    if (isLost(error)) throw sent ? new FateUnknown(outcomes, error) : error
    // Harmless if COMMIT has already ended the transaction.
    await client.query('ROLLBACK')
    throw error
  }
}

const SAVEPOINT = 'SAVEPOINT request'
const KEEP = 'RELEASE SAVEPOINT request'
const UNDO = 'ROLLBACK TO SAVEPOINT request'
const bare = (text: string): Statement => ({ name: text, text })

const namedSessions = ({ session_id, also = [] }: CommitRequest): string[] => [
  session_id,
  ...also.map(part => part.session_id),
]
const namedTrees = ({ rows = [], also = [] }: CommitRequest): string[] =>
  [...rows, ...also.flatMap(part => part.rows ?? [])].flatMap(treesOf)

/** The sessions of a batch after its commits so far, and as they were when locked. */
type Batch = { sessions: Map<string, StoredSession>; before: Map<string, StoredSession>; events: NewEvents }

/** A commit that touches other tables uses a savepoint to undo them; others have written nothing yet. */
async function decide(ask: Ask, batch: Batch, request: CommitRequest): Promise<TransactionOutcome> {
  const { events } = batch
  const written = events.ids.length
  const nested = request.also !== undefined || (request.rows !== undefined && request.rows.length > 0)
  try {
    if (nested) await ask(bare(SAVEPOINT), [])
    const done = await apply(ask, batch, request)
    if (nested) await ask(bare(KEEP), [])
    for (const { session } of [done, ...done.also]) batch.sessions.set(session.id, session)
    return { done }
  } catch (error) {
    if (isLost(error) || isKeyTaken(error)) throw error
    for (const column of [events.orgs, events.keys, events.ids, events.at, events.types, events.records])
      column.length = written
    if (nested) await ask(bare(UNDO), [])
    return error instanceof Refusing ? { refused: error } : { failed: error }
  }
}

async function apply(ask: Ask, batch: Batch, commit: CommitRequest): Promise<Done> {
  const { at } = commit
  const found = (id: string): StoredSession => {
    const row = batch.sessions.get(id)
    if (row === undefined) throw new Refusing('no_session', `[commit] session ${id} does not exist`, null)
    return row
  }
  const own = found(commit.session_id)
  guard(own, commit)
  const done = await applyPart(ask, batch.events, own, at, commit)
  const also: DonePart[] = []
  const created: StoredSession[] = []
  for (const part of commit.also ?? []) {
    const before =
      part.create === undefined ? found(part.session_id) : await create(ask, batch, at, part.create)
    if (part.create !== undefined) created.push(before)
    guardPart(before, part)
    also.push(await applyPart(ask, batch.events, before, at, part))
  }
  // Inserted already; updated with the effects of their first events.
  for (const row of created) batch.before.set(row.id, row)
  return { ...done, also }
}

async function create(
  ask: Ask,
  { sessions }: Batch,
  at: number,
  given: { session: NewSession; config: string },
): Promise<StoredSession> {
  const row = await insertSession(ask, given, at)
  if (row !== null) return row
  const { id } = given.session
  throw new Refusing('exists', `[commit] session ${id} exists already`, sessions.get(id) ?? null)
}

/** Applies one part of a commit; `before` is not changed. */
async function applyPart(
  ask: Ask,
  events: NewEvents,
  before: StoredSession,
  at: number,
  part: CommitPart,
): Promise<DonePart> {
  const row = { ...before }
  const session = JSON.stringify(row.id)
  const stored: StoredEvent[] = []
  const write = ([type, data, effect]: EncodedEvent): void => {
    const id = nextEvent(row, at, effect)
    const json = composeRecord(id, session, type, isoStamp(at), data)
    events.orgs.push(row.org_key)
    events.keys.push(row.key)
    events.ids.push(id)
    events.at.push(at)
    events.types.push(type)
    events.records.push(json)
    stored.push({ id, type, json })
  }
  const reopened = reopens(row, part)
  if (reopened && part.reopen !== undefined) write(part.reopen)
  const first = row.last_id + 1
  for (const event of part.events) write(event)
  const items: ChangedItem[] = []
  for (const change of part.rows ?? [])
    items.push(...((await CHANGES[change.do](ask, change, { row, at, first })) ?? []))
  settle(row, part)
  if (row.last_id !== before.last_id || part.set !== undefined) row.updated_at = at
  // What a session waits on also changes with time: an item may have expired since the lock was taken.
  if (items.length > 0)
    row.waiting = ((await ask(WAITING, [row.org_key, row.key, at]))[0]?.['waiting'] ?? null) as number | null
  return { last: row.last_id, reopened, session: row, work: bringsWork(before, row), events: stored, items }
}
