import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import { Duplex } from 'node:stream'
import type { Principal } from '@cairn/protocol'
import { expect, test } from 'vitest'
import type { Identity } from './auth/authenticate.ts'
import { serveLiveViews } from './live-socket.ts'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const principal: Principal = {
  kind: 'user',
  id: 'alice',
  org_id: 'o',
  name: 'Alice',
  email: 'alice@example.org',
  admin: false,
}
const identity: Identity = { principal, by: 'token', loginId: null, renewedCookie: null }

/** Node removes its own listener for errors from a socket that asks for an upgrade. */
test('a connection that breaks while its login is checked does not end the process', () => {
  const server = new EventEmitter()
  const checking = Promise.withResolvers<boolean>()
  const deps = {
    log: quiet,
    liveTickets: { use: () => ({ person: principal, identity }) },
    authenticator: { isStanding: () => checking.promise },
    standing: { add: () => () => {}, check: async () => {}, stop: () => {} },
  }
  serveLiveViews(server as Server, deps, { perPrincipal: 1, pingMs: 1000 })
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
  const request = { url: '/v1/sessions/s/browser/live?ticket=t', headers: { host: 'cairn.example' } }
  server.emit('upgrade', request, socket, Buffer.alloc(0))
  expect(socket.destroyed).toBe(false)
  expect(() => socket.emit('error', new Error('read ECONNRESET'))).not.toThrow()
  expect(socket.destroyed).toBe(true)
})
