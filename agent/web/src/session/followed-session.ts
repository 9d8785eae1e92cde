/**
 * One session's log in the browser: the stream goes in, rows and the chat view come out, one frame at a time.
 *
 * Arriving batches wait in `pending`; each frame takes as much as fits its budget and tells the listeners
 * once. So a burst of a hundred thousand events costs some seconds of busy frames and never a frozen page.
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
  /** Why the stream ended for good. */
  readonly failure: unknown
  /** Changes whenever something a reader sees has changed. */
  readonly revision: number
  subscribe(listener: () => void): () => void
  setFilter(filter: EventFilter): void
  /** Follows the stream from where the log is, in place of a former following; returns how to stop. */
  follow(): () => void
}

/** Follows the log after a cursor; returns how to stop. */
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

/** Who hears of every change of what a reader sees, and how many there were. */
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

/** Batches that arrived and are not in the view yet. */
function createPending() {
  const batches: SessionEvent[][] = []
  return {
    add: (batch: readonly SessionEvent[]): void => void batches.push([...batch]),
    isEmpty: (): boolean => batches.length === 0,
    lastId: (): number | undefined => batches.at(-1)?.at(-1)?.id,
    /** At most CHUNK events, the oldest. */
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

/** Asks for a frame unless one is asked for, and for another when `work` says that it is not done. */
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
