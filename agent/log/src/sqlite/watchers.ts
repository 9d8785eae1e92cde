/** Watchers of the embedded store, notified by the writer's answers. */
import type { EventId, EventType } from '@cairn/protocol'
import { isoStamp, type CommitPart } from '../engine/commit-rules.ts'
import { createCallbacks, createListeners } from '../engine/listeners.ts'
import { createLiveCache } from '../engine/live-cache.ts'
import { composeRecord } from '../engine/record-text.ts'
import { unpackSession } from './packed-session.ts'
import { isIndexed } from '../resources/search/entries.ts'
import type { EventStore, InboxWatch, LeaseStore, SessionStore, StoredEvent } from '../store.ts'
import type {
  CallAnswer,
  CommitAnswer,
  CommitRequest,
  PartAnswer,
  Request,
} from '../engine/writer-messages.ts'

export type Watchers = {
  watch: EventStore['watch']
  watchInbox: InboxWatch['watch']
  watchSessions: SessionStore['watch']
  watchWork: LeaseStore['watch']
  /** New sessions and sessions with new searchable events. */
  watchIndexed: SessionStore['watch']
  /** Called for every answered request, in commit order. */
  landed(request: Request, value: unknown): void
  /** Newest events from memory; null if the page is not cached. */
  read(sessionId: string, after: EventId, limit: number, types?: readonly EventType[]): StoredEvent[] | null
}

const WORK = 'work'

export function createWatchers(): Watchers {
  const live = createLiveCache()
  const readers = createListeners<[epoch: number | null]>(live.drop)
  const inbox = createListeners<[itemId: string]>()
  const workers = createListeners<[]>()
  const sessions = createCallbacks<[sessionId: string]>()
  const indexed = createCallbacks<[sessionId: string]>()

  function keep(
    at: number,
    { session_id, reopen, events }: CommitPart,
    { reopened, last }: PartAnswer,
  ): void {
    const all = reopened && reopen !== undefined ? [reopen, ...events] : events
    const session = JSON.stringify(session_id)
    const first = last - all.length + 1
    live.append(
      session_id,
      all.map(([type, data], index) => ({
        id: first + index,
        type,
        json: composeRecord(first + index, session, type, isoStamp(at), data),
      })),
    )
  }

  function grown(at: number, part: CommitPart, answer: PartAnswer, orgId: () => string): void {
    if (live.has(part.session_id)) keep(at, part, answer)
    if (part.events.length > 0) readers.call(part.session_id, answer.epoch)
    sessions.call(part.session_id)
    if (part.events.some(([type]) => isIndexed(type))) indexed.call(part.session_id)
    if (answer.work) workers.call(WORK)
    for (const item of answer.items ?? []) inbox.call(orgId(), item)
  }

  function committed(request: CommitRequest, answer: CommitAnswer): void {
    grown(request.at, request, answer, () => unpackSession(answer.session).org_id)
    for (const [at, part] of (request.also ?? []).entries()) {
      const own = answer.also?.[at]
      if (own !== undefined) grown(request.at, part, own, () => own.org_id)
    }
  }

  return {
    landed(request, value) {
      if (request.do === 'commit') committed(request, value as CommitAnswer)
      else if (request.do === 'create') {
        indexed.call(request.session.id)
        sessions.call(request.session.id)
      } else if (request.do === 'release' && value === true) workers.call(WORK)
      else if (request.do === 'prune' && (value as { deleted: number }).deleted > 0) live.clear()
      else if (request.do === 'call')
        for (const [orgId, item] of (value as CallAnswer).items ?? []) inbox.call(orgId, item)
    },
    read: live.read,
    watch(sessionId, onChange) {
      live.open(sessionId)
      return readers.add(sessionId, onChange)
    },
    watchInbox: (orgId, onChange) => inbox.add(orgId, onChange),
    watchSessions: onChange => sessions.add(onChange),
    watchIndexed: onChange => indexed.add(onChange),
    watchWork: onChange => workers.add(WORK, onChange),
  }
}
