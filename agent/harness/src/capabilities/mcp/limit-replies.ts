/**
 * Limits the answers to a server's requests (ping, roots). Without a limit, endless requests would cause as
 * many HTTP requests to the server, or a growing input buffer of a server that does not read; answers above
 * the rate are not sent.
 */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { Clock } from '@cairn/models/clock'

const BURST = 100
const EVERY_MS = 1000

export function limitReplies<T extends Transport>(transport: T, clock: Clock): T {
  const send = transport.send.bind(transport)
  let spentUntil = Number.NEGATIVE_INFINITY
  transport.send = (message, options) => {
    if ('method' in message) return send(message, options)
    const now = clock.monotonic()
    spentUntil = Math.max(spentUntil, now - BURST * EVERY_MS) + EVERY_MS
    if (spentUntil <= now) return send(message, options)
    spentUntil -= EVERY_MS
    return Promise.resolve()
  }
  return transport
}
