/** Everything outside /v1: probes, metrics, the documents, and the web UI. */
import { AppError, errorWithHeaders } from '@cairn/protocol'
import type { Services } from '../deps.ts'
import { type Exchange, send, sendJson } from '../http/exchange.ts'
import { openapiText } from '../openapi.ts'
import { sendUnchanging } from './compressed.ts'
import { DOCS_CSP, docsPage } from './docs-page.ts'
import { createWebUi } from './web-ui.ts'

/** Rendered at the first request only: these are large and need no login. */
function lazyBytes(write: () => string): () => Buffer {
  let bytes: Buffer | null = null
  return () => (bytes ??= Buffer.from(write()))
}

type Page = (exchange: Exchange) => Promise<void> | void

export function createSite(services: Services): (exchange: Exchange) => Promise<void> {
  const { metrics, isReady, version } = services
  const webUi = createWebUi(services.webRoot)
  const openapi = lazyBytes(openapiText)
  const docs = lazyBytes(docsPage)
  const pages: Record<string, Page> = {
    '/healthz': exchange => sendJson(exchange, 200, JSON.stringify({ status: 'ok', version })),
    '/readyz': async exchange => {
      await isReady()
      sendJson(exchange, 200, '{"status":"ready"}')
    },
    '/metrics': async exchange =>
      send(exchange, 200, metrics.contentType, await metrics.text(), { 'cache-control': 'no-store' }),
    '/openapi.json': exchange =>
      sendUnchanging(exchange, 'application/json; charset=utf-8', openapi(), {
        'cache-control': 'no-cache',
      }),
    '/docs': exchange =>
      sendUnchanging(exchange, 'text/html; charset=utf-8', docs(), {
        'cache-control': 'no-cache',
        'content-security-policy': DOCS_CSP,
        'referrer-policy': 'no-referrer',
      }),
  }
  return async exchange => {
    if (/^\/v1(?:\/|$)/i.test(exchange.path))
      throw new AppError(
        'not_found',
        `Unknown route ${exchange.path.slice(0, 200)}: routes are below /v1/, in lower case; see /docs.`,
      )
    const page = Object.hasOwn(pages, exchange.path) ? pages[exchange.path] : undefined
    exchange.route = page === undefined ? 'ui' : exchange.path.slice(1)
    if (exchange.method !== 'GET' && exchange.method !== 'HEAD')
      throw errorWithHeaders('method_not_allowed', `Method ${exchange.method} not allowed. Allowed: GET.`, {
        allow: 'GET, HEAD',
      })
    await (page ?? webUi)(exchange)
  }
}
