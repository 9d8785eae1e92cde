/**
 * Live changes of sessions (contract 4.17): `opened` first, then each changed session that the reader may see
 * as `session`. Changes before `opened` are in the session list, which has its own route.
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

/** Sends each change from now on; returns a function that stops it. */
export function followSessionChanges(
  sessionChanges: SessionChanges,
  principal: Principal,
  connection: Sink,
): () => void {
  /** Changed sessions not sent yet, each in its newest state. */
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
