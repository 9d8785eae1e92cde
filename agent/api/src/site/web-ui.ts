/** The built web UI: its files, and index.html for every path that the UI itself routes. */
import { readFile } from 'node:fs/promises'
import { extname, join, resolve, sep } from 'node:path'
import { AppError } from '@cairn/protocol'
import { type Exchange, send } from '../http/exchange.ts'
import { sendUnchanging } from './compressed.ts'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.map': 'application/json',
}
const CSP =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; frame-src " +
  "'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; connect-src 'self'"
const PAGE_HEADERS = {
  'content-security-policy': CSP,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
}

/**
 * The frame page for html artifacts. Untrusted content needs a laxer policy; in exchange the page has an
 * opaque origin (no cookies, no storage, no API) and may send no request.
 */
const FRAME_PATH = '/artifact-frame.html'
const FRAME_CSP =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; " +
  "font-src data:; media-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; " +
  'sandbox allow-scripts'

/** The page that renders diagrams from their source: inline styles set by our script, and no requests. */
const DIAGRAM_PATH = '/diagram-frame.html'
const DIAGRAM_CSP =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'self'"
const FRAME_POLICIES: Readonly<Record<string, string>> = {
  [FRAME_PATH]: FRAME_CSP,
  [DIAGRAM_PATH]: DIAGRAM_CSP,
}

const NOT_BUILT =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Cairn Agent</title><h1>The web UI is not ' +
  'built</h1><p>Run <code>npm run build:web</code> and reload. The API works without it: see <a ' +
  'href="/docs">the reference</a>.</p></html>'

export function createWebUi(webRoot: string | undefined): (exchange: Exchange) => Promise<void> {
  const root = webRoot === undefined ? null : resolve(webRoot)

  async function read(path: string): Promise<Buffer | null> {
    if (root === null) return null
    const file = resolve(join(root, path))
    if (!file.startsWith(root + sep)) return null
    try {
      return await readFile(file)
    } catch (error) {
      if (
        ['ENOENT', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG'].includes((error as NodeJS.ErrnoException).code ?? '')
      )
        return null
      throw error
    }
  }

  return async exchange => {
    const path = decodePath(exchange.path)
    const found = path === '/' ? null : await read(path)
    if (found !== null) {
      // Names under assets/ carry a hash of their content.
      const cache = path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
      return sendUnchanging(exchange, TYPES[extname(path)] ?? 'application/octet-stream', found, {
        ...PAGE_HEADERS,
        'cache-control': cache,
        ...(Object.hasOwn(FRAME_POLICIES, path) && { 'content-security-policy': FRAME_POLICIES[path] }),
      })
    }
    if (extname(path) !== '') throw new AppError('not_found', `Unknown path ${path.slice(0, 200)}.`)
    const index = await read('/index.html')
    if (index === null)
      return send(exchange, 503, 'text/html; charset=utf-8', NOT_BUILT, {
        ...PAGE_HEADERS,
        'cache-control': 'no-store',
      })
    return sendUnchanging(exchange, TYPES['.html'] as string, index, {
      ...PAGE_HEADERS,
      'cache-control': 'no-cache',
    })
  }
}

function decodePath(path: string): string {
  try {
    const decoded = decodeURIComponent(path)
    if (!decoded.includes('\0')) return decoded
  } catch (error) {
    if (!(error instanceof URIError)) throw error
  }
  throw new AppError('bad_request', 'Invalid path: not valid percent-encoding.')
}
