/** The open streams of this process, counted per principal. */
import { errorWithHeaders } from '@cairn/protocol'
import type { Identity } from '../auth/authenticate.ts'
import type { Exchange } from '../http/exchange.ts'
import { type Connection, takeConnection } from './connection.ts'

const COME_BACK_S = 5

export type OpenStream = {
  readonly connection: Connection
  readonly identity: Identity
  /** Bytes that the reader lacks. */
  lacks: () => number
}

export type OpenStreams = Iterable<OpenStream> & {
  /** Takes over the connection; throws if the principal has reached its limit. */
  add(exchange: Exchange, identity: Identity): OpenStream
  remove(open: OpenStream): void
  count(): number
}

export function createOpenStreams(perPrincipal: number): OpenStreams {
  const all = new Set<OpenStream>()
  const counts = new Map<string, number>()
  return {
    [Symbol.iterator]: () => all.values(),
    add(exchange, identity) {
      const { id } = identity.principal
      const count = counts.get(id) ?? 0
      if (count >= perPrincipal)
        throw errorWithHeaders(
          'too_many_streams',
          `Too many open streams: ${count} of at most ${perPrincipal} ` +
            '(limits.streams_per_principal). Close one first.',
          { 'retry-after': String(COME_BACK_S) },
        )
      const connection = takeConnection(exchange)
      const open: OpenStream = { connection, identity, lacks: () => connection.unsent() }
      all.add(open)
      counts.set(id, count + 1)
      return open
    },
    remove(open) {
      if (!all.delete(open)) return
      const { id } = open.identity.principal
      const left = (counts.get(id) ?? 1) - 1
      if (left > 0) counts.set(id, left)
      else counts.delete(id)
    },
    count: () => all.size,
  }
}
