/**
 * How requests leave for a model server. By undici, because Node's built-in fetch gives up after 300 s
 * without a byte and a reasoning model may be silent for longer: how long to wait is the turn's decision
 * (contract 7.10).
 */
import { EnvHttpProxyAgent } from 'undici'
import { MAX_REFUSAL_BYTES } from './answer-limits.ts'
import { createPlainFetch } from './plain-fetch.ts'

export type Fetch = typeof globalThis.fetch
export type Transport = { fetch: Fetch; close(): Promise<void> }
export type ProxySettings = { httpProxy?: string; httpsProxy?: string; noProxy?: string }

/** Longest delay a timer takes; the SDKs insist on some limit of their own. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1

const LOOPBACK = 'localhost,127.0.0.1,::1'

/** The usual proxy variables, read from the given environment; loopback is always reached directly. */
export function proxySettings(env: Readonly<Record<string, string | undefined>>): ProxySettings {
  const httpProxy = env['http_proxy'] ?? env['HTTP_PROXY']
  const httpsProxy = env['https_proxy'] ?? env['HTTPS_PROXY']
  const noProxy = env['no_proxy'] ?? env['NO_PROXY']
  return {
    ...(httpProxy ? { httpProxy } : {}),
    ...(httpsProxy ? { httpsProxy } : {}),
    noProxy: noProxy ? `${noProxy},${LOOPBACK}` : LOOPBACK,
  }
}

/** One connection pool; `close` ends its idle sockets and fails what is in flight. */
export function createTransport(proxy: ProxySettings = {}): Transport {
  // Empty strings, not absence: absent options make undici read the process environment by itself.
  const dispatcher = new EnvHttpProxyAgent({
    httpProxy: proxy.httpProxy ?? '',
    httpsProxy: proxy.httpsProxy ?? '',
    noProxy: proxy.noProxy ?? LOOPBACK,
    headersTimeout: 0,
    bodyTimeout: 0,
    // A socket a call, so that aborting one closes it and no stalled neighbour holds it up.
    allowH2: false,
  })
  return { fetch: createPlainFetch(dispatcher), close: () => dispatcher.destroy() }
}

/** Of a refusal only its beginning is read. */
export function limitRefusals(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (response.ok || response.body === null) return response
    let taken = 0
    const limit = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        controller.enqueue(bytes.subarray(0, MAX_REFUSAL_BYTES - taken))
        taken += bytes.length
        if (taken >= MAX_REFUSAL_BYTES) controller.terminate()
      },
    })
    return new Response(response.body.pipeThrough(limit), {
      status: response.status,
      headers: response.headers,
    })
  }
}
