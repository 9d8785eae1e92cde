import { freePort, startServer, versionOf } from './children.ts'
import type { Peer } from './peer.ts'

export const redis: Peer = {
  name: 'Redis Streams',
  acknowledged: 'on disk (appendfsync always)',
  install: 'apt-get install redis-server',
  appends: true,
  delivers: true,
  async start(dir) {
    const version = versionOf('redis-server', '--version')
    if (version === null) return null
    const port = await freePort()
    const settings = {
      port: String(port),
      bind: '127.0.0.1',
      dir,
      appendonly: 'yes',
      appendfsync: 'always',
      save: '',
      daemonize: 'no',
      loglevel: 'warning',
    }
    const { pid, stop } = await startServer(
      'redis-server',
      Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
      port,
    )
    return {
      version: /v=\S+/.exec(version)?.[0].slice(2) ?? version,
      spec: { kind: 'redis', port },
      pids: [pid],
      stop,
    }
  },
}
