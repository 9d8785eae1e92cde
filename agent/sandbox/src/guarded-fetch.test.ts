import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GovernanceConfig } from '@cairn/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { guardedFetch } from './guarded-fetch.ts'
import { RefusedAddress } from './guarded-lookup.ts'

async function listen(host: string, location: string | null) {
  let connections = 0
  const server = createServer((_, response) =>
    response.writeHead(location === null ? 204 : 302, location === null ? {} : { location }).end(),
  )
  server.on('connection', () => void (connections += 1))
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

test.each(['127.0.0.1', '[::ffff:7f00:1]', 'inside.test'])(
  'checks each connection, so that a caller that follows redirects does not reach %s',
  async host => {
    const inside = await listen('::', null)
    const allowed = await listen('127.0.0.2', `http://${host}:${inside.port}/`)
    const { egress } = GovernanceConfig.parse({ egress: { internal: ['127.0.0.2', '127.0.0.1:1'] } })
    const call = guardedFetch(egress, name =>
      Promise.resolve([{ address: name === 'hook.test' ? '127.0.0.2' : '127.0.0.1', family: 4 }]),
    )
    const thrown: unknown = await call(`http://hook.test:${allowed.port}/`, { redirect: 'follow' }).then(
      () => null,
      (error: unknown) => error,
    )
    expect((thrown as TypeError).cause).toBeInstanceOf(RefusedAddress)
    expect([allowed.connections(), inside.connections()]).toEqual([1, 0])
  },
)
