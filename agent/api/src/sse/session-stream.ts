/**
 * Live changes of sessions (contract 4.17): `opened` first, then the record of each session that changes and
 * that the reader may see, as `session`. What was missed before `opened` is in the list, which has a route.
 */
import { mayAccess } from '@cairn/sessions'
import type { Principal } from '@cairn/protocol'
import type { Identity } from '../auth/authenticate.ts'
import type { Services } from '../deps.ts'
import type { Exchange } from '../http/exchange.ts'
import { chunk } from './frames.ts'
import type { Sink } from './reader.ts'
import type { SessionChanges } from './session-changes.ts'

export function streamSessionChanges(
  { streams, sessionChanges }: Services,
  exchange: Exchange,
  identity: Identity,
): void {
  let stop = (): void => undefined
  const connection = streams.open(exchange, identity, () => stop())
  stop = followSessionChanges(sessionChanges, identity.principal, connection)
  connection.write(chunk('event: opened\ndata: {}\n\n'))
}

/** Sends each change from now on; returns how to stop. */
export function followSessionChanges(
  sessionChanges: SessionChanges,
  principal: Principal,
  connection: Sink,
): () => void {
  /** Not taken yet, each as it is by now. */
  const waiting = new Map<string, string>()
  function flush(): void {
    for (const [id, frame] of waiting) {
      if (!connection.hasRoom()) return
      waiting.delete(id)
      connection.write(chunk(frame))
    }
  }
  connection.onRoom = flush
  return sessionChanges.watch(changes => {
    for (const { row, shown } of changes)
      if (mayAccess(principal, row)) waiting.set(row.id, `event: session\ndata: ${JSON.stringify(shown)}\n\n`)
    flush()
  })
}
