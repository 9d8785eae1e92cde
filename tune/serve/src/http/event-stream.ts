/** Server-sent events of an answer as it is generated. */
import type { ServerResponse } from 'node:http'

/** Bounds the memory for a client that requests answers but does not read them. */
export const MAX_UNSENT_BYTES = 8 * 2 ** 20

/**
 * Sends one event, preceded by the response head for the first. Closes the connection of a client that does
 * not read.
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
