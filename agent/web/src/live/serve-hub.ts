/** A hub with the streams of this login, at the end of ports. */
import { createSharedStream } from '@cairn/client/shared'
import { renewed } from '../api.ts'
import { createHub } from './hub.ts'
import type { ToHub } from './messages.ts'

/** Returns how to add the port of a page. */
export function serveHub(userId: string): (port: MessagePort) => void {
  const hub = createHub({ userId, stream: createSharedStream(renewed), now: () => performance.now() })
  return port => {
    port.addEventListener('message', ({ data }) => hub.receive(port, data as ToHub))
    // Not every browser reports it. A page also says when it leaves, and is dropped when it stays silent.
    port.addEventListener('close', () => hub.drop(port))
    port.start()
  }
}
