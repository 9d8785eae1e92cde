/**
 * One session's log in the browser: the stream goes in, rows and the chat view come out, one frame at a time.
 *
 * Arriving batches wait in `pending`; each frame takes as much as fits its budget and tells the listeners
 * once. So a burst of a hundred thousand events costs some seconds of busy frames and never a frozen page.
 */
import type { StreamState } from '@cairn/client'
import type { SessionEvent } from '@cairn/protocol'
import { type SessionView, emptySessionView, foldSessionView } from '@cairn/state'
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

export type ReadEvents = (
  id: string,
  options: { after: number; signal: AbortSignal; onState: (state: StreamState) => void },
) => AsyncIterable<SessionEvent[]>
export type Frames = { request: (callback: () => void) => void; now: () => number }

const BUDGET_MS = 7
const CHUNK = 1500

export function followSession(id: string, read: ReadEvents, frames: Frames): FollowedSession {
  const index = createEventIndex()
  const listeners = new Set<() => void>()
  const pending: SessionEvent[][] = []
  let view = emptySessionView
  let connection: Connection = 'connecting'
  let failure: unknown = null
  let revision = 0
  let isRequested = false
  let following = new AbortController()

  const notify = () => {
    revision += 1
    for (const listener of listeners) listener()
  }
  const setConnection = (state: Connection) => {
    if (state === connection) return
    connection = state
    notify()
  }
  const requestFrame = () => {
    if (isRequested) return
    isRequested = true
    frames.request(frame)
  }

  function take(): SessionEvent[] {
    const chunk: SessionEvent[] = []
    while (pending.length > 0 && chunk.length < CHUNK) {
      const batch = pending[0] ?? []
      const rest = batch.splice(CHUNK - chunk.length)
      chunk.push(...batch)
      if (rest.length > 0) pending[0] = rest
      else pending.shift()
    }
    return chunk
  }

  function frame() {
    isRequested = false
    const until = frames.now() + BUDGET_MS
    const isLate = () => frames.now() >= until
    do {
      const chunk = take()
      index.append(chunk)
      view = foldSessionView(view, chunk)
    } while (pending.length > 0 && !isLate())
    const isDone = index.scan(isLate)
    notify()
    if (pending.length > 0 || !isDone) requestFrame()
  }

  const lastReceived = () => pending.at(-1)?.at(-1)?.id ?? index.events.at(-1)?.id ?? 0

  async function followUntil(signal: AbortSignal) {
    try {
      for await (const batch of read(id, {
        after: lastReceived(),
        signal,
        onState: state => {
          if (!signal.aborted) setConnection(state)
        },
      })) {
        if (signal.aborted) return
        pending.push([...batch])
        requestFrame()
      }
    } catch (error) {
      if (signal.aborted) return
      failure = error
      setConnection('failed')
    }
  }

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
      return revision
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    setFilter(filter) {
      index.setFilter(filter)
      index.scan(() => true)
      notify()
      if (index.unscanned > 0) requestFrame()
    },
    follow() {
      following.abort()
      following = new AbortController()
      failure = null
      void followUntil(following.signal)
      return () => following.abort()
    },
  }
}
