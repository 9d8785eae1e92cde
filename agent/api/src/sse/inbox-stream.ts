/**
 * Live inbox (contract 4): sends the pending items as `snapshot`, then each new or changed item as `item`.
 */
import { asError, type Principal } from '@cairn/protocol'
import { mayAccess, nameDecider, shownItem, visibleTo } from '@cairn/sessions'
import type { Identity } from '../auth/authenticate.ts'
import type { Services } from '../deps.ts'
import type { Exchange } from '../http/exchange.ts'
import { chunk } from './frames.ts'
import type { Sink } from './reader.ts'

const SNAPSHOT = 200

export function streamInboxChanges(services: Services, exchange: Exchange, identity: Identity): void {
  let stop = (): void => undefined
  const connection = services.streams.open(exchange, identity, () => stop())
  stop = followInbox(services, exchange.id, identity.principal, connection)
}

/** Sends the snapshot, then each change; returns a function that stops it. */
export function followInbox(
  { store, log }: Services,
  requestId: string,
  principal: Principal,
  connection: Sink,
): () => void {
  const changed = new Set<string>()
  let isSending = true

  function fail(error: unknown): void {
    log.error('reading the inbox for a stream failed', {
      request_id: requestId,
      error: asError(error).message,
    })
    connection.destroy()
  }
  /** Items are read when they are sent, so that ten changes of one item are one frame. */
  async function sendChanged(): Promise<void> {
    for (const itemId of changed) {
      changed.delete(itemId)
      const item = await store.inbox.get(itemId)
      if (item === null || !mayAccess(principal, item)) continue
      const shown = await nameDecider({ store }, principal.org_id, shownItem(item))
      connection.write(chunk(`event: item\ndata: ${JSON.stringify(shown)}\n\n`))
      // The others wait until this one is sent, and are then read in their current state.
      if (!connection.hasRoom()) return
    }
  }
  async function flush(): Promise<void> {
    if (isSending) return
    isSending = true
    try {
      while (changed.size > 0 && connection.hasRoom()) await sendChanged()
    } catch (error) {
      fail(error)
    } finally {
      isSending = false
    }
  }
  async function begin(): Promise<void> {
    try {
      const { items } = await store.inbox.list({
        ...visibleTo(principal),
        status: ['pending'],
        limit: SNAPSHOT,
      })
      connection.write(chunk(`event: snapshot\ndata: ${JSON.stringify({ items })}\n\n`))
    } catch (error) {
      fail(error)
    } finally {
      isSending = false
    }
    connection.onRoom = () => void flush()
    await flush()
  }

  // Watching starts before the snapshot is read: a change in between is sent twice, never lost.
  const stop = store.inbox.watch(principal.org_id, itemId => {
    changed.add(itemId)
    void flush()
  })
  void begin()
  return stop
}
