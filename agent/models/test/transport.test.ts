/** Requests go through the proxy of the environment, except to this machine. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTransport, proxySettings } from '../src/transport.ts'

const seen: string[] = []
// Answers direct requests and refuses tunnels, so that nothing leaves this machine.
const listener: Server = createServer((request, response) => {
  seen.push(`${request.method} ${request.url}`)
  response.end('here')
}).on('connect', (request, socket) => {
  seen.push(`CONNECT ${request.url}`)
  socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
})
let address = ''
beforeAll(async () => {
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const bound = listener.address()
  address = typeof bound === 'object' && bound !== null ? `http://127.0.0.1:${bound.port}` : ''
})
afterAll(() => {
  listener.closeAllConnections()
  listener.close()
})

test('uses the proxy variables for other hosts and never for loopback', async () => {
  const transport = createTransport(proxySettings({ HTTP_PROXY: address, https_proxy: address }))
  seen.length = 0
  await expect(transport.fetch('https://model.test/v1')).rejects.toThrow('fetch failed')
  expect(seen).toEqual(['CONNECT model.test:443'])
  seen.length = 0
  expect(await (await transport.fetch(`${address}/direct`)).text()).toBe('here')
  expect(seen).toEqual(['GET /direct'])
  await transport.close()
})

test('lower-case names win, NO_PROXY extends loopback, and only the given environment is read', () => {
  expect(proxySettings({ HTTP_PROXY: 'a', http_proxy: 'b', NO_PROXY: 'intern.example' })).toEqual({
    httpProxy: 'b',
    noProxy: 'intern.example,localhost,127.0.0.1,::1',
  })
  expect(proxySettings({})).toEqual({ noProxy: 'localhost,127.0.0.1,::1' })
})
