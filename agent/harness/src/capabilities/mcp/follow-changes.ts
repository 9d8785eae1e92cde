/**
 * In revision 2026-07-28 a server announces changes of its tools only to a client that subscribed. The
 * subscription is renewed at growing intervals while the session lasts.
 */
import type { Client } from '@modelcontextprotocol/client'
import { backoffMs } from '@cairn/models/backoff'
import type { Clock } from '@cairn/models/clock'

const RENEW = { baseMs: 5000, maxMs: 300_000 }

/**
 * Does nothing for a server that sends its changes unasked, or has none. The result must be called when the
 * client has closed.
 */
export function followChanges(client: Client, clock: Clock, onChanged: () => void): () => void {
  let cancel = (): void => undefined
  if (client.getProtocolEra() !== 'modern') return cancel
  if (client.getServerCapabilities()?.tools?.listChanged !== true) return cancel
  let attempts = 0
  function later(): void {
    if (client.transport === undefined) return
    cancel = clock.after(RENEW.baseMs + backoffMs(RENEW, attempts, 1), () => {
      // Changes in between were not announced.
      if (client.transport === undefined) return
      onChanged()
      follow()
    })
    attempts += 1
  }
  function follow(): void {
    client
      .listen({ toolsListChanged: true })
      .then(({ closed }) => closed.then(cause => (cause === 'local' ? undefined : later())))
      // The server may offer no subscription, or none now: its tools stay as they were listed.
      .catch(later)
  }
  follow()
  return () => cancel()
}
