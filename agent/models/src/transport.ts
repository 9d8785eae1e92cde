/**
 * The HTTP transport to model servers. It uses undici directly, because Node's built-in fetch times out after
 * 300 s without a byte and a reasoning model may be silent for longer: the turn decides how long to wait
 * (contract 7.10).
 */
import { EnvHttpProxyAgent } from 'undici'
import { MAX_REFUSAL_BYTES } from './answer-limits.ts'
import { createPlainFetch, type Fetch } from './plain-fetch.ts'

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

/**
 * Passes on the beginning of a refusal's body under the one key that both SDKs keep: they drop a body that is
 * a list, and everything beside its `error`.
 */
export function wrapRefusals(fetch: Fetch): Fetch {
  const send = limitRefusals(fetch)
  return async (input, init) => {
    const response = await send(input, init)
    if (response.ok) return response
    const { status, headers } = response
    return Response.json(
      { error: { body: await response.text() } },
      { status, headers: jsonHeaders(headers) },
    )
  }
}

/** What the server sent, as an SDK passes it on: parsed JSON, or text. */
export function refusedBody({ error }: { error?: unknown }): unknown {
  // Anthropic's SDK keeps the key that OpenAI's removes.
  const inner = field(field(error, 'error'), 'body') ?? field(error, 'body')
  if (typeof inner !== 'string') return error
  try {
    return JSON.parse(inner) as unknown
  } catch {
    // Not every refusal is JSON.
    return inner
  }
}

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

function jsonHeaders(headers: Headers): Headers {
  const given = new Headers(headers)
  for (const name of ['content-length', 'content-encoding']) given.delete(name)
  given.set('content-type', 'application/json')
  return given
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
