/** Serves a hub with the streams of this login to the ports of pages. */
import { createSharedStream } from '@cairn/client/shared'
import { renewed } from '../api.ts'
import { createHub } from './hub.ts'
import type { ToHub } from './messages.ts'

/** Returns a function that adds the port of a page. */
export function serveHub(userId: string): (port: MessagePort) => void {
  const hub = createHub({ userId, stream: createSharedStream(renewed), now: () => performance.now() })
  return port => {
    port.addEventListener('message', ({ data }) => hub.receive(port, data as ToHub))
    // Not every browser emits this event. A page also sends a message when it leaves, and is dropped when it
    // is silent.
    port.addEventListener('close', () => hub.drop(port))
    port.start()
  }
}
