/**
 * Ends what a call does in the browser when the call is aborted. @playwright/mcp hands no signal on: a click
 * that waits for its button would go on for the ten seconds that it has, and land under the hands of the
 * person who took over. Playwright ends a message on a signal; so every message that a call sends gets the
 * call's, and one that it would send afterwards is not sent.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { BrowserContext } from 'playwright-core'

type Send = (object: unknown, method: string, params: unknown, options: Options) => Promise<unknown>
type Options = { signal?: AbortSignal; internal?: boolean }
/** Not a public part of playwright-core, whose version is pinned; a test fails if it is gone. */
type Connection = { sendMessageToServer: Send }

type Call = { signal: AbortSignal; sent: Set<Promise<unknown>> }
const calls = new AsyncLocalStorage<Call>()
/** There is one connection for all browsers of this process. */
const watched = new WeakSet<Connection>()

/** Once it is over, nothing of `run` reaches the browser any more. */
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
