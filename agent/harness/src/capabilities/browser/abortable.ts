/**
 * Ends what a call does in the browser when the call is aborted. @playwright/mcp does not pass on a signal: a
 * click that waits for its button would continue for its full ten seconds and land while the person who took
 * over is working. Playwright ends a message on a signal, so every message of a call gets the call's signal,
 * and later ones are not sent.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { BrowserContext } from 'playwright-core'

type Send = (object: unknown, method: string, params: unknown, options: Options) => Promise<unknown>
type Options = { signal?: AbortSignal; internal?: boolean }
/** A private part of playwright-core, whose version is pinned; a test fails if it is missing. */
type Connection = { sendMessageToServer: Send }

type Call = { signal: AbortSignal; sent: Set<Promise<unknown>> }
const calls = new AsyncLocalStorage<Call>()
/** All browsers of this process share one connection. */
const watched = new WeakSet<Connection>()

/** After an abort nothing of `run` reaches the browser any more. */
export async function abortable<T>(
  context: BrowserContext,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> {
  handOnSignals((context as unknown as { _connection: Connection })._connection)
  const sent: Call['sent'] = new Set()
  try {
    return await calls.run({ signal, sent }, run)
  } finally {
    if (signal.aborted) await Promise.allSettled(sent)
  }
}

function handOnSignals(connection: Connection): void {
  if (watched.has(connection)) return
  watched.add(connection)
  const send = connection.sendMessageToServer
  connection.sendMessageToServer = (object, method, params, options) => {
    const call = calls.getStore()
    if (call === undefined) return send.call(connection, object, method, params, options)
    const signals = options.signal === undefined ? [call.signal] : [options.signal, call.signal]
    const answer = send.call(connection, object, method, params, {
      ...options,
      signal: AbortSignal.any(signals),
    })
    call.sent.add(answer)
    const forget = (): void => void call.sent.delete(answer)
    answer.then(forget, forget)
    return answer
  }
}
