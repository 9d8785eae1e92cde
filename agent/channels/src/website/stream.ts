/** A visitor's stream: server-sent events with the records they may see, and whether the agent is working. */
import type { LogStore } from '@cairn/log'
import type { EventId } from '@cairn/protocol'
import { VISITOR_TYPES, visitorRecord } from './records.ts'

const AT_ONCE = 200
/** Proxies close idle connections. */
const HEARTBEAT_MS = 10_000

const frame = (type: string, data: unknown, id?: EventId): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`

/** `signal`: aborts when the client disconnects or the server stops. */
export function streamFor(
  store: LogStore,
  sessionId: string,
  after: EventId,
  signal: AbortSignal,
  onEnd: () => void,
): Response {
  const body = ReadableStream.from(frames(store, sessionId, after, signal, onEnd)).pipeThrough(
    new TextEncoderStream(),
  )
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    },
  })
}

async function* frames(
  store: LogStore,
  sessionId: string,
  after: EventId,
  signal: AbortSignal,
  onEnd: () => void,
): AsyncGenerator<string> {
  const nudged = createNudge(signal)
  const stop = store.events.watch(sessionId, nudged.nudge)
  let through = after
  let shown: string | null = null
  try {
    yield ': open\n\n'
    while (!signal.aborted) {
      nudged.reset()
      const events = await store.events.read(sessionId, through, AT_ONCE, VISITOR_TYPES)
      for (const { id, json } of events) {
        through = id
        const record = visitorRecord(json)
        if (record !== null) yield frame(record.type, record, id)
      }
      if (events.length === AT_ONCE) continue
      const session = await store.sessions.get(sessionId)
      const state = {
        working:
          session?.status === 'active' && session.waiting_on === null && session.wake_id > session.cursor,
        ended: session === null || session.status === 'archived',
      }
      const now = JSON.stringify(state)
      if (now !== shown) yield frame('state', state)
      shown = now
      if (state.ended) return
      if (!(await nudged.wait(HEARTBEAT_MS))) yield ': heartbeat\n\n'
    }
  } finally {
    stop()
    onEnd()
  }
}

/** A notification that came before the wait counts. */
function createNudge(signal: AbortSignal) {
  let isNudged = false
  let wake = (): void => undefined
  const nudge = (): void => {
    isNudged = true
    wake()
  }
  signal.addEventListener('abort', nudge, { once: true })
  return {
    nudge,
    reset: () => void (isNudged = false),
    /** False if the time has passed. */
    async wait(ms: number): Promise<boolean> {
      if (isNudged || signal.aborted) return true
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      const timer = setTimeout(resolve, ms)
      await promise
      clearTimeout(timer)
      return isNudged
    },
  }
}
