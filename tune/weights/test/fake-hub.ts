/** A hub on this machine: its routes, its headers, and connections that are cut. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type FakeHub = {
  url: string
  commit: string
  /** `METHOD path range`, in order. */
  requests: string[]
  /**
   * How many bytes the next replies of the store of large files give before they wait to be cut; 0 is cut at
   * once.
   */
  cuts: number[]
  /**
   * Cuts the connections that wait. The client has read something by then: what it has not read when a
   * connection breaks is lost.
   */
  cutNow: () => void
  /** Changes what the named file is served as, without its hash. */
  corrupt: (name: string) => void
  [Symbol.asyncDispose]: () => Promise<void>
}

type Options = {
  files: Record<string, Uint8Array>
  prefix?: string
  id: string
  token?: string
  large?: RegExp
  ignoresRange?: boolean
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const gitHash = (bytes: Uint8Array) =>
  createHash('sha1').update(`blob ${bytes.byteLength}\0`).update(bytes).digest('hex')

/**
 * Small files answer after a redirect of the hub's own, large ones with a redirect to a store elsewhere: as
 * the real one does.
 */
export async function startFakeHub({
  files,
  prefix = '',
  id,
  token,
  large = /\.safetensors$/,
  ignoresRange = false,
}: Options): Promise<FakeHub> {
  const commit = 'c'.repeat(40)
  const served = { ...files }
  const requests: string[] = []
  const cuts: number[] = []
  const held: ServerResponse[] = []
  const store = createServer((request, reply) => send(request, reply, (request.url ?? '').slice(1)))
  const hub = createServer((request, reply) => {
    const path = decodeURIComponent(request.url ?? '')
    requests.push(`${request.method} ${path} ${request.headers.range ?? ''}`.trim())
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) return end(reply, 401)
    if (path === `/api/${prefix === '' ? 'models' : 'datasets'}/${id}/revision/main`) {
      return end(
        reply,
        200,
        {},
        JSON.stringify({ sha: commit, siblings: Object.keys(files).map(rfilename => ({ rfilename })) }),
      )
    }
    const name = path.replace(`/${prefix}${id}/resolve/${commit}/`, '').replace(`/resolve-cache/`, '')
    const bytes = files[name]
    if (!bytes) return end(reply, 404)
    if (large.test(name))
      return end(reply, 302, {
        location: `${urlOf(store)}/${name}`,
        'x-linked-etag': `"${sha256(bytes)}"`,
        'x-linked-size': String(bytes.byteLength),
      })
    if (!path.startsWith('/resolve-cache/')) return end(reply, 307, { location: `/resolve-cache/${name}` })
    reply.setHeader('etag', `"${gitHash(bytes)}"`)
    return send(request, reply, name)
  })

  function send(request: IncomingMessage, reply: ServerResponse, name: string): void {
    const bytes = served[name] ?? new Uint8Array()
    const asked = ignoresRange ? undefined : /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1]
    const start = Number(asked ?? 0)
    reply.writeHead(asked === undefined ? 200 : 206, {
      'content-length': bytes.byteLength - start,
      ...(asked === undefined
        ? {}
        : { 'content-range': `bytes ${start}-${bytes.byteLength - 1}/${bytes.byteLength}` }),
    })
    if (request.method === 'HEAD') return void reply.end()
    const cut = large.test(name) ? cuts.shift() : undefined
    if (cut === undefined) return void reply.end(bytes.subarray(start))
    if (cut === 0) return void reply.destroy()
    held.push(reply)
    reply.write(bytes.subarray(start, start + cut))
  }

  await Promise.all(
    [store, hub].map(server => new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))),
  )
  return {
    url: urlOf(hub),
    commit,
    requests,
    cuts,
    cutNow: () => {
      for (const reply of held.splice(0)) reply.destroy()
    },
    corrupt: name => {
      served[name] = (served[name] ?? new Uint8Array()).map(byte => byte ^ 1)
    },
    [Symbol.asyncDispose]: async () => {
      for (const server of [store, hub]) {
        server.closeAllConnections()
        await new Promise<void>(resolve => void server.close(() => resolve()))
      }
    },
  }
}

const urlOf = (server: ReturnType<typeof createServer>) =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`

function end(reply: ServerResponse, status: number, headers: Record<string, string> = {}, body = ''): void {
  reply.writeHead(status, headers).end(body)
}
