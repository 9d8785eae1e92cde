/**
 * Live inbox (contract 4): what is pending as `snapshot`, then each item that appears or changes as
 * `item`.
 */
import { asError } from '@cairn/protocol'
import { mayAccess, nameDecider, shownItem, visibleTo } from '@cairn/sessions'
import type { Identity } from '../auth/authenticate.ts'
import type { Services } from '../deps.ts'
import type { Exchange } from '../http/exchange.ts'
import { chunk } from './frames.ts'

const SNAPSHOT = 200

export async function streamInboxChanges(
  { store, streams, log }: Services,
  exchange: Exchange,
  identity: Identity,
): Promise<void> {
  const { principal } = identity
  const changed = new Set<string>()
  let isSending = true
  let stop: (() => void) | null = null
  const connection = streams.open(exchange, identity, () => stop?.())

  /** Items are read when they are sent, so that ten changes of one are one frame. */
  async function sendChanged(): Promise<void> {
    for (const itemId of changed) {
      changed.delete(itemId)
      const item = await store.getInboxItem(itemId)
      if (item === null || !mayAccess(principal, item)) continue
      const shown = await nameDecider({ store }, principal.org_id, shownItem(item))
      connection.write(chunk(`event: item\ndata: ${JSON.stringify(shown)}\n\n`))
      // The others wait until this one is taken, and are then sent as they are by then.
      if (!connection.hasRoom()) return
    }
  }
  async function flush(): Promise<void> {
    if (isSending) return
    isSending = true
    try {
      while (changed.size > 0 && connection.hasRoom()) await sendChanged()
    } catch (thrown) {
      log.error('reading the inbox for a stream failed', {
        request_id: exchange.id,
        error: asError(thrown).message,
      })
      connection.destroy()
    } finally {
      isSending = false
    }
  }

  // Watching begins before the snapshot is read: what changes in between is sent once more, never lost.
  stop = store.watchInbox(principal.org_id, itemId => {
    changed.add(itemId)
    void flush()
  })
  try {
    const { items } = await store.listInbox({ ...visibleTo(principal), status: ['pending'], limit: SNAPSHOT })
    connection.write(chunk(`event: snapshot\ndata: ${JSON.stringify({ items })}\n\n`))
  } catch (thrown) {
    log.error('reading the inbox for a stream failed', {
      request_id: exchange.id,
      error: asError(thrown).message,
    })
    connection.destroy()
    stop()
  }
  isSending = false
  connection.onRoom = () => void flush()
  await flush()
}
