/**
 * A model server that follows a scenario: OpenAI's streaming protocol over real HTTP on loopback, for the
 * demo and for tests.
 */
import { createServer } from 'node:http'
import { once } from 'node:events'
import { parseScenario, type ScenarioInput, type ScenarioRule } from './scenario.ts'
import { answer, type RecordedRequest } from './answer.ts'

export type ScriptedServer = {
  /** Base URL for an OpenAI client. */
  url: string
  /** Requests in order of arrival; only the latest `record` are kept. */
  requests: readonly RecordedRequest[]
  /** Resolves once this number of requests has arrived since the start. */
  requested(count: number): Promise<void>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Enough for any test; the demo keeps none. */
const RECORDED = 1000

export type ScriptedServerOptions = {
  record?: number
  /** The answer to the nth request, counted from 1, waits for this, so that a test can act in between. */
  hold?: (nth: number) => Promise<void> | undefined
}

/** Starts on an ephemeral port of 127.0.0.1. */
export async function startScriptedServer(
  input: ScenarioInput,
  options: ScriptedServerOptions = {},
): Promise<ScriptedServer> {
  const keep = options.record ?? RECORDED
  const requests: RecordedRequest[] = []
  const waiting = new Set<{ count: number; resolve: () => void }>()
  let seen = 0

  const record = (request: RecordedRequest): Promise<void> | undefined => {
    seen += 1
    requests.push(request)
    if (requests.length > keep) requests.shift()
    for (const wait of waiting) {
      if (seen < wait.count) continue
      waiting.delete(wait)
      wait.resolve()
    }
    return options.hold?.(seen)
  }

  const script = { scenario: parseScenario(input), used: new Map<ScenarioRule, number>(), record }
  const server = createServer((incoming, response) => {
    const left = new AbortController()
    const ended = new Promise<'answered' | 'left'>(resolve => {
      response.once('close', () => {
        left.abort()
        resolve(response.writableFinished ? 'answered' : 'left')
      })
    })
    answer(script, incoming, response, left.signal, ended).catch((error: unknown) => {
      // The client is gone, or there is a bug here; in both cases only this request ends, not the server.
      if (!left.signal.aborted) response.destroy(error instanceof Error ? error : undefined)
    })
  })

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string')
    throw new Error(`[scripted server] expected a TCP address, got ${String(address)}`)
  const close = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    requests,
    close,
    [Symbol.asyncDispose]: close,
    requested: count =>
      seen >= count ? Promise.resolve() : new Promise(resolve => waiting.add({ count, resolve })),
  }
}
