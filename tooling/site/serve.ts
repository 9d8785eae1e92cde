/** Serves a folder of files over HTTP on 127.0.0.1, compressed, for the site's checks and for a look at it. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { extname, join, normalize } from 'node:path'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

const TYPES: Record<string, string> = {
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
}

/** The file of a request path; a path that ends with a slash is a page. `undefined`: there is none. */
function fileOf(folder: string, path: string): string | undefined {
  const clean = normalize(`/${decodeURIComponent(path.replace(/[?#].*$/, ''))}`)
  const file = join(folder, clean.endsWith('/') ? `${clean}index.html` : clean)
  return existsSync(file) && statSync(file).isFile() ? file : undefined
}

/** Starts the server. Port 0 takes a free one. */
export function serveFolder(folder: string, port = 0): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    const file = fileOf(folder, request.url ?? '/')
    const shown = file ?? join(folder, '404.html')
    response.writeHead(file === undefined ? 404 : 200, {
      'content-type': TYPES[extname(shown)] ?? 'application/octet-stream',
      'content-encoding': 'gzip',
    })
    response.end(gzipSync(readFileSync(shown)))
  })
  const { promise, resolve, reject } = Promise.withResolvers<{ url: string; server: Server }>()
  server.once('error', reject)
  server.listen(port, '127.0.0.1', () =>
    resolve({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server }),
  )
  return promise
}
