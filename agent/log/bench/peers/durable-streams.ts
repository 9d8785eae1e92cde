import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startScript } from './children.ts'
import type { Peer } from './peer.ts'

const PACKAGE = 'node_modules/@durable-streams/server'

export const durableStreams: Peer = {
  name: 'Durable Streams, reference server',
  acknowledged: 'in its file store',
  appends: true,
  delivers: true,
  install:
    'npm install @durable-streams/server in a folder outside the repository, and DURABLE_STREAMS=that folder',
  async start(dir) {
    const root = process.env['DURABLE_STREAMS']
    if (root === undefined) return null
    const manifest = join(root, PACKAGE, 'package.json')
    if (!existsSync(manifest)) return null
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
    const {
      ready: port,
      pid,
      stop,
    } = await startScript<number>(new URL('durable-streams-server.ts', import.meta.url), {
      module: join(root, PACKAGE, 'dist/index.js'),
      dir,
    })
    const post = Array.from({ length: 64 }, (_, stream) => `/bench-${stream}`)
    for (const path of post) {
      const made = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
      })
      if (!made.ok)
        throw new Error(`[bench] Durable Streams refused a stream: ${made.status} ${await made.text()}`)
    }
    return {
      version,
      spec: { kind: 'http', port, headers: {}, post, field: 'text', get: `${post[0]}?offset=now&live=sse` },
      pids: [pid],
      stop,
    }
  },
}
