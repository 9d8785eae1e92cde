/** Events of an answer as it is generated (SSE). */
import type { ServerResponse } from 'node:http'

/** A client that reads nothing would otherwise have all its answers kept in memory. */
export const MAX_UNSENT_BYTES = 8 * 2 ** 20

/**
 * Sends one event, the first with the head of the response. Ends the connection of a client that does not
 * read what it asked for.
 */
export function sendEvent(response: ServerResponse, data: string): void {
  if (response.destroyed) return
  if (!response.headersSent)
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      connection: 'keep-alive',
    })
  if (response.writableLength > MAX_UNSENT_BYTES) response.destroy()
  else response.write(`data: ${data}\n\n`)
}
