/**
 * The log of a simulation: the real transactions of the embedded store on a database in memory, and what a
 * process sees of it over a connection that is slow, and that may fail before a commit, or after it with
 * nobody the wiser.
 */
import { AppError } from '@cairn/protocol'
import {
  type Commit,
  CommitRefused,
  createRedactor,
  type LogStore,
  type StoredEvent,
  type Timer,
} from '@cairn/log'
import { createBatchWriter, type Transactional } from '@cairn/log/internal/batch-writer'
import { checkStore } from '@cairn/log/internal/check'
import { encodeCommit } from '@cairn/log/internal/encode-commit'
import { toInboxItem } from '@cairn/log/internal/inbox-rows'
import { migrate, readMigrations } from '@cairn/log/internal/migrate'
import { createReader, type Reader } from '@cairn/log/internal/reader'
import { toCommitted } from '@cairn/log/internal/committed'
import { unpackSession } from '@cairn/log/internal/packed-session'
import { type StoredSession, toSessionRow } from '@cairn/log/internal/session-rows'
import { createResourceReaders, createResourceStores } from '@cairn/log/internal/resource-stores'
import {
  encodeRow,
  mapResources,
  type ResourceReaders,
  type ResourceStores,
} from '@cairn/log/internal/resources'
import { toLink } from '@cairn/log/internal/links'
import { type Db, openDb } from '@cairn/log/internal/sqlite-adapter'
import type {
  Answer,
  CallAnswer,
  ClaimAnswer,
  CommitAnswer,
  PartAnswer,
  Request,
} from '@cairn/log/internal/writer-messages'
import type { Process, World } from './world.ts'

const MIGRATIONS = readMigrations()
const redact = createRedactor()

const never = (what: string) => (): never => {
  throw new Error(`[simulation] nobody needs ${what}`)
}

/** What really is on disk, and who wants to hear of it. */
/** Whether work may have appeared, and the epoch of the lease that holds the session now. */
type Landed = Pick<PartAnswer, 'work' | 'epoch'>

export type Truth = {
  reader: Reader
  resources: ResourceReaders
  /** Nobody has one. */
  accounts: LogStore['accounts']
  perform(request: Transactional): Answer
  sessions(): StoredSession[]
  /** What `cairn doctor` would say of it. */
  check(): string[]
  onCommit(hear: (sessionId: string, landed: Landed) => void): void
  close(): void
}

export function createTruth(now: () => number): Truth {
  const db: Db = openDb(':memory:')
  migrate(db, MIGRATIONS, now())
  const run = createBatchWriter(db)
  const all = db.prepare('SELECT *, NULL AS waiting FROM sessions ORDER BY pos')
  /** As they were read since the last write: whether all rest is asked at every step. */
  let known: StoredSession[] | null = null
  const listeners: ((sessionId: string, landed: Landed) => void)[] = []
  return {
    reader: createReader(db),
    resources: createResourceReaders(db, now),
    accounts: createResourceStores(db, now, never('a change of accounts')).accounts,
    perform(request) {
      known = null
      const [answer] = run([request])
      if (answer === undefined) throw new Error('[simulation] a request without an answer')
      if (answer[0] !== 'done') return answer
      if (request.do === 'commit') {
        const { also = [], ...own } = answer[1] as CommitAnswer
        for (const hear of listeners) {
          hear(request.session_id, own)
          for (const [at, part] of also.entries()) hear(request.also?.[at]?.session_id ?? '', part)
        }
      }
      if (request.do === 'release' && answer[1] === true)
        for (const hear of listeners) hear('', { work: true, epoch: null })
      return answer
    },
    sessions: () => (known ??= all.all() as StoredSession[]),
    check: () => checkStore(db),
    onCommit: hear => void listeners.push(hear),
    close: () => db.close(),
  }
}

export type Faults = {
  /** Chance that a write fails with nothing written, and that it is written and its answer is lost. */
  before: number
  after: number
  /** Chance that a notification never comes. */
  unheard: number
  maxDelayMs: number
  /** The planted bug of the test that the simulation finds one. */
  ignoreFence?: boolean
}

export const INJECTED = 'injected fault'

/** The store as one process sees it. Writes of a process arrive in the order they were sent. */
export function connectStore(world: World, truth: Truth, process: Process, faults: () => Faults): LogStore {
  let lastArrival = 0
  const delay = (): number => world.between(0, faults().maxDelayMs)
  const readers = new Map<string, Set<(epoch: number | null) => void>>()
  const workers = new Set<() => void>()

  truth.onCommit((sessionId, { work, epoch }) => {
    if (!process.alive()) return
    const heard = [...(readers.get(sessionId) ?? []), ...(work ? workers : [])]
    for (const nudge of heard) if (!world.chance(faults().unheard)) process.after(delay(), () => nudge(epoch))
  })

  function write<T>(make: () => Transactional, shape: (value: unknown, at: number) => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const { before, after } = faults()
    const fate = world.random()
    const arrival = Math.max(lastArrival, world.now() + delay())
    lastArrival = arrival
    const answer = (settle: () => void): void => void process.after(delay(), settle)
    world.after(arrival - world.now(), () => {
      if (fate < before)
        return answer(() => reject(new AppError('storage', `${INJECTED}: nothing was written`)))
      const request = make()
      const at = world.now()
      const result = truth.perform(request)
      if (fate < before + after)
        return answer(() => reject(new AppError('storage', `${INJECTED}: the answer was lost`)))
      answer(() => settle(result, request, value => resolve(shape(value, at)), reject))
    })
    return promise
  }

  function settle(
    answer: Answer,
    request: Request,
    resolve: (value: unknown) => void,
    reject: (error: Error) => void,
  ): void {
    switch (answer[0]) {
      case 'done':
        return resolve(answer[1])
      case 'failed':
        return reject(new Error(answer[1]))
      case 'refused': {
        const { refusal, detail, session, item } = answer[1]
        return reject(
          new CommitRefused(
            refusal,
            detail,
            session && toSessionRow(session),
            item && toInboxItem(item, 'at' in request ? request.at : 0),
          ),
        )
      }
    }
  }

  function read<T>(look: (reader: Reader, now: number) => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    world.after(delay(), () => {
      try {
        const value = look(truth.reader, world.now())
        process.after(delay(), () => resolve(value))
      } catch (error) {
        process.after(delay(), () => reject(error as Error))
      }
    })
    return promise
  }

  const commit = (given: Commit): Promise<Awaited<ReturnType<LogStore['commit']>>> => {
    const { fence: _, ...unfenced } = given
    const sent = faults().ignoreFence === true && given.release_lease !== true ? unfenced : given
    return write(
      () => encodeCommit({ redact, encodeRow }, world.now(), sent),
      (value, at) => {
        const { last, session } = value as CommitAnswer
        return toCommitted(given, at, last, () => toSessionRow(unpackSession(session)))
      },
    )
  }
  /** Every resource can be read. Those that also write outside commits follow by name. */
  const resources = mapResources((_resource, name) => {
    const reads = Object.entries(truth.resources[name] as Record<string, (...args: unknown[]) => unknown>)
    return Object.fromEntries(
      reads.map(([method, run]) => [method, (...args: unknown[]) => read(() => run(...args))]),
    )
  }) as object as ResourceStores
  return {
    commit,
    sessions: {
      create: session =>
        write(
          () => ({ do: 'create', at: world.now(), session, config: JSON.stringify(session.config ?? {}) }),
          value => toSessionRow(value as StoredSession),
        ),
      get: id => read((reader, now) => reader.getSession(id, now)),
      getMany: never('sessions.getMany'),
      list: query => read((reader, now) => reader.listSessions(query, now)),
      watch: never('sessions.watch'),
      retired: never('sessions.retired'),
    },
    events: {
      read: (sessionId, after, limit, types): Promise<StoredEvent[]> =>
        read(reader => reader.read(sessionId, after, limit, types)),
      watch(sessionId, nudge) {
        const found = readers.get(sessionId) ?? new Set()
        readers.set(sessionId, found.add(nudge))
        return () => void found.delete(nudge)
      },
      pruneDeltas: before =>
        write(
          () => ({ do: 'prune', before, after: { org_key: 0, key: 0 } }),
          value => (value as { deleted: number }).deleted,
        ),
      lostAt: never('events.lostAt'),
      last: never('events.last'),
    },
    snapshots: {
      save: (session_id, snapshot) =>
        write(
          () => ({ do: 'snapshot', at: world.now(), session_id, snapshot }),
          value => value as boolean,
        ),
      read: (sessionId, version) => read(reader => reader.readSnapshot(sessionId, version)),
    },
    leases: {
      claim: (runnerId, limit, ttl, rules) =>
        write(
          () => ({
            do: 'claim',
            at: world.now(),
            worker_id: runnerId,
            limit,
            ttl,
            ...(rules === undefined ? {} : { rules }),
          }),
          value =>
            (value as ClaimAnswer).map(({ session, epoch, abandoned_ms, link }) => ({
              session: toSessionRow(session),
              fence: { worker_id: runnerId, epoch },
              abandoned_s: abandoned_ms === null ? null : abandoned_ms / 1000,
              link: link === null ? null : toLink(link),
            })),
        ),
      renew: (runnerId, leases, ttl) =>
        write(
          () => ({ do: 'renew', at: world.now(), worker_id: runnerId, leases, ttl }),
          value => value as string[],
        ),
      release: (sessionId, fence) =>
        write(
          () => ({ do: 'release', at: world.now(), session_id: sessionId, fence }),
          () => undefined,
        ),
      get: id => read(reader => reader.leaseOf(id)),
      countDue: () => read(reader => reader.countDue(world.now())),
      watch(nudge) {
        workers.add(nudge)
        return () => void workers.delete(nudge)
      },
    },
    ...resources,
    inbox: { ...resources.inbox, markRead: never('inbox.markRead'), watch: never('inbox.watch') },
    timers: {
      claim: (by, limit, ttl) =>
        write(
          () => ({
            do: 'call',
            resource: 'timers',
            method: 'claim',
            at: world.now(),
            args: [by, limit, ttl],
          }),
          value => (value as CallAnswer).value as Timer[],
        ),
    },
    probe: never('probe'),
    check: never('check'),
    backup: never('backup'),
    close: () => Promise.resolve(),
    get browsers() {
      return never('browsers')()
    },
    get channels() {
      return never('channels')()
    },
    // Whoever made a schedule is asked for when it is due; nobody has an account that could be disabled.
    accounts: {
      ...truth.accounts,
      getUser: () => read(() => null),
      getServiceAccount: () => read(() => null),
    },
    get notifications() {
      return never('notifications')()
    },
    get search() {
      return never('search')()
    },
  }
}
