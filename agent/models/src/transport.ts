/**
 * The HTTP transport to model servers. It uses undici directly, because Node's built-in fetch times out after
 * 300 s without a byte and a reasoning model may be silent for longer: the turn decides how long to wait
 * (contract 7.10).
 */
import { EnvHttpProxyAgent } from 'undici'
import { MAX_REFUSAL_BYTES } from './answer-limits.ts'
import { createPlainFetch, type Fetch } from './plain-fetch.ts'
import { wrapRefusal } from './servers/refusal.ts'

export type Transport = { fetch: Fetch; close(): Promise<void> }
export type ProxySettings = { httpProxy?: string; httpsProxy?: string; noProxy?: string }

/** Maximum delay of a timer; the SDKs require some timeout. */
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

/** One connection pool; `close` ends idle sockets and fails pending requests. */
export function createTransport(proxy: ProxySettings = {}): Transport {
  // Empty strings instead of absent options, which would make undici read the process environment.
  const dispatcher = new EnvHttpProxyAgent({
    httpProxy: proxy.httpProxy ?? '',
    httpsProxy: proxy.httpsProxy ?? '',
    noProxy: proxy.noProxy ?? LOOPBACK,
    headersTimeout: 0,
    bodyTimeout: 0,
    // One socket per call, so that aborting a call closes it and no stalled call delays another.
    allowH2: false,
  })
  return { fetch: createPlainFetch(dispatcher), close: () => dispatcher.destroy() }
}

/** Error responses in the form that the vendors' SDKs read. Reads only the beginning of each. */
export function readableRefusals(fetch: Fetch): Fetch {
  const limited = limitRefusals(fetch)
  return async (input, init) => {
    const response = await limited(input, init)
    if (response.ok || response.body === null) return response
    const { status, headers } = response
    return new Response(wrapRefusal(await response.text()), { status, headers })
  }
}

/** Reads only the beginning of an error response. */
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
