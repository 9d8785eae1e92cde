import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, startServer, versionOf } from './children.ts'
import { createNatsStream } from './nats-driver.ts'
import type { Peer } from './peer.ts'

/** The first that can sync before it acknowledges. */
const SYNCS_FROM = [2, 10]

function canSync(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > SYNCS_FROM[0]! || (major === SYNCS_FROM[0] && minor >= SYNCS_FROM[1]!)
}

export const nats: Peer = {
  name: 'NATS JetStream',
  acknowledged: 'on disk (file storage, sync_interval always)',
  appends: true,
  delivers: true,
  install:
    'go install github.com/nats-io/nats-server/v2@latest, and the program in PATH (or NATS_SERVER); ' +
    "Debian's 2.9 cannot sync before it acknowledges",
  async start(dir) {
    const program = process.env['NATS_SERVER'] ?? 'nats-server'
    const version = /v(\d[\d.]*)/.exec(versionOf(program, '--version') ?? '')?.[1]
    if (version === undefined) return null
    const port = await freePort()
    const file = join(dir, 'nats.conf')
    writeFileSync(
      file,
      `listen: "127.0.0.1:${port}"\njetstream { store_dir: ` +
        `"${dir}"${canSync(version) ? ', sync_interval: always' : ''} }\n`,
    )
    const { pid, stop } = await startServer(program, ['-c', file], port)
    await createNatsStream(port)
    return {
      version: canSync(version) ? version : `${version}, which cannot sync: NOT durable when acknowledged`,
      spec: { kind: 'nats', port },
      pids: [pid],
      stop,
    }
  },
}
