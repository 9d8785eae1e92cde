/** The write side of the embedded store: requests to its writer, and their answers as results. */
import { toCommitted } from '../engine/committed.ts'
import { encodeCommit, encodeSession } from '../engine/encode-commit.ts'
import { encodeRow } from '../resources/index.ts'
import { toLink } from '../resources/links/link.ts'
import { unpackSession } from './packed-session.ts'
import type { Redact } from '../engine/redact.ts'
import { type StoredSession, toSessionRow } from '../engine/session-rows.ts'
import type { EventStore, LeaseStore, LogStore, SessionStore, SnapshotStore } from '../store.ts'
import type { WriterClient } from './writer-client.ts'
import type { ClaimAnswer, CommitAnswer, PrunePosition } from '../engine/writer-messages.ts'

type Writes = Pick<LogStore, 'commit' | 'probe'> & {
  createSession: SessionStore['create']
  saveSnapshot: SnapshotStore['save']
  pruneDeltas: EventStore['pruneDeltas']
}

export function createWrites(ask: WriterClient['ask'], redact: Redact, now: () => number): Writes {
  return {
    async createSession(session) {
      const request = { do: 'create', at: now(), ...encodeSession(redact, session) } as const
      return toSessionRow((await ask(request)) as StoredSession)
    },
    async commit(commit) {
      const request = encodeCommit({ redact, encodeRow }, now(), commit)
      const { last, session } = (await ask(request)) as CommitAnswer
      return toCommitted(commit, request.at, last, () => toSessionRow(unpackSession(session)))
    },
    saveSnapshot: async (session_id, snapshot) =>
      (await ask({ do: 'snapshot', at: now(), session_id, snapshot })) as boolean,
    probe: async () => void (await ask({ do: 'probe' })),
    async pruneDeltas(before) {
      let total = 0
      for (let after: PrunePosition | null = { org_key: 0, key: 0 }; after !== null;) {
        const step = (await ask({ do: 'prune', before, after })) as {
          deleted: number
          after: PrunePosition | null
        }
        total += step.deleted
        after = step.after
      }
      return total
    },
  }
}

/** `clock`: monotonic milliseconds. */
export function createLeases(
  ask: WriterClient['ask'],
  clock: () => number,
): Pick<LeaseStore, 'claim' | 'renew' | 'release'> {
  return {
    async claim(runnerId, limit, ttlMs, rules) {
      const wanted = { worker_id: runnerId, limit, ttl: ttlMs, ...(rules === undefined ? {} : { rules }) }
      const claims = (await ask({ do: 'claim', at: clock(), ...wanted })) as ClaimAnswer
      return claims.map(({ session, epoch, abandoned_ms, link }) => ({
        session: toSessionRow(session),
        fence: { worker_id: runnerId, epoch },
        abandoned_s: abandoned_ms === null ? null : abandoned_ms / 1000,
        link: link === null ? null : toLink(link),
      }))
    },
    renew: async (runnerId, leases, ttlMs) =>
      (await ask({ do: 'renew', at: clock(), worker_id: runnerId, leases, ttl: ttlMs })) as string[],
    release: async (sessionId, fence) =>
      void (await ask({ do: 'release', at: clock(), session_id: sessionId, fence })),
  }
}
