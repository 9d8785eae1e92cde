/**
 * One session's log in the browser: it reads the stream and updates rows and chat view once a frame.
 *
 * Arriving batches wait in `pending`. Each frame processes as much as fits its budget and notifies the
 * listeners once, so a burst of a hundred thousand events costs some seconds of busy frames and never freezes
 * the page.
 */
import type { StreamState } from '@cairn/client'
import type { SessionEvent } from '@cairn/protocol'
import { type SessionView, emptySessionView, foldSessionView } from '@cairn/state'
import type { Listener } from '../live/subscriptions.ts'
import { type EventFilter } from '../events/filter.ts'
import { type EventIndex, createEventIndex } from '../events/event-index.ts'

export type Connection = StreamState | 'failed'
export type FollowedSession = {
  readonly id: string
  readonly index: EventIndex
  readonly view: SessionView
  readonly connection: Connection
  /** The error that ended the stream for good. */
  readonly failure: unknown
  /** Changes whenever something that the reader sees changes. */
  readonly revision: number
  subscribe(listener: () => void): () => void
  setFilter(filter: EventFilter): void
  /**
   * Follows the stream from the last received event, replacing an earlier call; returns a function that stops
   * it.
   */
  follow(): () => void
}

/** Follows the log after a cursor; returns a function that stops it. */
export type FollowLog = (id: string, after: number, listener: Listener<SessionEvent>) => () => void
export type Frames = { request: (callback: () => void) => void; now: () => number }

const BUDGET_MS = 7
const CHUNK = 1500

export function followSession(id: string, followLog: FollowLog, frames: Frames): FollowedSession {
  const index = createEventIndex()
  const pending = createPending()
  const changes = createChanges()
  let view = emptySessionView
  let connection: Connection = 'connecting'
  let failure: unknown = null
  let stop = (): void => undefined

  const setConnection = (state: Connection) => {
    if (state === connection) return
    connection = state
    changes.tell()
  }
  const requestFrame = oneFrameAtATime(frames, () => {
    const until = frames.now() + BUDGET_MS
    const isLate = () => frames.now() >= until
    do {
      const chunk = pending.take()
      index.append(chunk)
      view = foldSessionView(view, chunk)
    } while (!pending.isEmpty() && !isLate())
    const isDone = index.scan(isLate)
    changes.tell()
    return pending.isEmpty() && isDone
  })

  return {
    id,
    index,
    get view() {
      return view
    },
    get connection() {
      return connection
    },
    get failure() {
      return failure
    },
    get revision() {
      return changes.count()
    },
    subscribe: changes.subscribe,
    setFilter(filter) {
      index.setFilter(filter)
      index.scan(() => true)
      changes.tell()
      if (index.unscanned > 0) requestFrame()
    },
    follow() {
      stop()
      failure = null
      stop = followLog(id, pending.lastId() ?? index.events.at(-1)?.id ?? 0, {
        onItems(batch) {
          pending.add(batch)
          requestFrame()
        },
        onState: setConnection,
        onFailed(error) {
          failure = error
          setConnection('failed')
        },
      })
      return stop
    },
  }
}

/** The listeners of the session, and the number of changes. */
function createChanges() {
  const listeners = new Set<() => void>()
  let count = 0
  return {
    count: (): number => count,
    tell(): void {
      count += 1
      for (const listener of listeners) listener()
    },
    subscribe(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Batches that have arrived and are not yet in the view. */
function createPending() {
  const batches: SessionEvent[][] = []
  return {
    add: (batch: readonly SessionEvent[]): void => void batches.push([...batch]),
    isEmpty: (): boolean => batches.length === 0,
    lastId: (): number | undefined => batches.at(-1)?.at(-1)?.id,
    /** The oldest events, at most CHUNK. */
    take(): SessionEvent[] {
      const chunk: SessionEvent[] = []
      while (batches.length > 0 && chunk.length < CHUNK) {
        const batch = batches[0] ?? []
        const rest = batch.splice(CHUNK - chunk.length)
        chunk.push(...batch)
        if (rest.length > 0) batches[0] = rest
        else batches.shift()
      }
      return chunk
    },
  }
}

/** Requests a frame unless one is pending, and another one while `work` returns false. */
function oneFrameAtATime(frames: Frames, work: () => boolean): () => void {
  let isRequested = false
  function request() {
    if (isRequested) return
    isRequested = true
    frames.request(() => {
      isRequested = false
      if (!work()) request()
    })
  }
  return request
}
