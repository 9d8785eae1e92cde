/** The streams of this page: one hub for all pages of a user in this browser. */
import type { EventId, SessionEvent } from '@cairn/protocol'
import HubWorker from './hub-worker.ts?sharedworker'
import type { HubConnection, OpenHub } from './hub-link.ts'
import type { Change, FromHub } from './messages.ts'
import { type Listener, createSubscriptions } from './subscriptions.ts'

/** False after a shared worker failed to start; this page then runs its own hub. */
let hasSharedWorkers = 'SharedWorker' in globalThis

function portOfHub(userId: string, onEnded: () => void): MessagePort {
  if (hasSharedWorkers) {
    try {
      const worker = new HubWorker({ name: userId })
      worker.addEventListener('error', () => {
        hasSharedWorkers = false
        onEnded()
      })
      return worker.port
    } catch {
      // The browser forbids them, for example when a person blocks the storage of this site.
      hasSharedWorkers = false
    }
  }
  const { port1, port2 } = new MessageChannel()
  void import('./serve-hub.ts').then(({ serveHub }) => serveHub(userId)(port2))
  return port1
}

const openHubOf =
  (userId: string): OpenHub =>
  ({ onMessage, onEnded }): HubConnection => {
    const port = portOfHub(userId, onEnded)
    port.addEventListener('message', ({ data }) => onMessage(data as FromHub))
    port.addEventListener('close', onEnded)
    port.start()
    return {
      post: wants => port.postMessage(wants),
      close() {
        port.postMessage([])
        port.close()
      },
    }
  }

function everyMs(ms: number, beat: () => void): () => void {
  const timer = setInterval(beat, ms)
  return () => clearInterval(timer)
}

const openLive = (userId: string) => ({ userId, ...createSubscriptions(openHubOf(userId), everyMs) })
let live: ReturnType<typeof openLive> | null = null

/** Sets the logged-in user. Pages of another user have another hub. */
export function setLiveUser(userId: string): void {
  if (live?.userId === userId) return
  live?.pause()
  live = openLive(userId)
}

window.addEventListener('pagehide', () => live?.pause())
window.addEventListener('pageshow', event => {
  if (event.persisted) live?.resume()
})

const current = () => {
  if (live === null) throw new Error('[live] no user is logged in')
  return live
}
export const followChanges = (listener: Listener<Change>): (() => void) => current().followChanges(listener)
export const followLog = (
  sessionId: string,
  after: EventId,
  listener: Listener<SessionEvent>,
): (() => void) => current().followLog(sessionId, after, listener)
