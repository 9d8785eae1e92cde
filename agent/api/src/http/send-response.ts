/** Writes the response of a mount: at once, or chunk by chunk if its body is a stream. */
import { once } from 'node:events'
import { type Exchange, send } from './exchange.ts'

export async function sendResponse(exchange: Exchange, response: Response): Promise<void> {
  const { status, body } = response
  const headers = Object.fromEntries(response.headers)
  if (response.headers.get('content-type') !== 'text/event-stream' || body === null) {
    const bytes = Buffer.from(await response.arrayBuffer())
    send(exchange, status, null, bytes, { 'cache-control': 'no-store', ...headers })
    return
  }
  const { res } = exchange
  if (res.headersSent || res.destroyed) return
  res.writeHead(status, { 'x-request-id': exchange.id, 'x-content-type-options': 'nosniff', ...headers })
  const reader = body.getReader()
  const stop = (): void => void reader.cancel()
  res.once('close', stop)
  for (;;) {
    const { done, value } = await reader.read()
    if (done || res.destroyed) break
    // A client that does not read pauses the stream, so nothing accumulates in memory; its disconnect ends
    // the wait.
    if (!res.write(value)) await Promise.race([once(res, 'drain'), once(res, 'close')])
  }
  res.end()
}
