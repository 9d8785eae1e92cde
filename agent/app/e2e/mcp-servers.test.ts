/** A service whose MCP servers misbehave starts its first turn without delay. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { cairn, makePlace, startService } from './server.ts'
import { isType, newSession, runTurn } from './session.ts'

/** `/silent` never answers; the tool list of `/endless` has no last page. */
async function startServers() {
  let listed = 0
  let gaveUp = false
  const server = createServer((request, response) => {
    void (async () => {
      let body = ''
      for await (const piece of request) body += String(piece)
      if (request.url === '/silent') {
        response.on('close', () => (gaveUp = true))
        return
      }
      const { id, method } = JSON.parse(body || '{}') as { id?: number; method?: string }
      if (id === undefined) return void response.writeHead(request.method === 'GET' ? 405 : 202).end()
      if (method === 'tools/list') listed += 1
      const result =
        method === 'tools/list'
          ? { tools: [], nextCursor: 'more' }
          : {
              protocolVersion: '2025-06-18',
              serverInfo: { name: 'endless', version: '1' },
              capabilities: { tools: {} },
            }
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    listed: () => listed,
    /** Whether the service has canceled a request to the silent server. */
    gaveUp: () => gaveUp,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

test('MCP servers that never answer or never end their tool list do not delay a turn', async () => {
  await using servers = await startServers()
  const place = makePlace({
    scenario: { rules: [{ answer: { text: 'here' } }] },
    config: {
      mcp_servers: { silent: { url: `${servers.url}/silent` }, endless: { url: `${servers.url}/endless` } },
    },
  })
  const service = await startService(place)
  const events = await runTurn(service.client, await newSession(service.client), 'hello')
  expect(events.filter(isType('session.complete'))).toHaveLength(1)
  // The service cancels this attempt after ten seconds. The turn ends before that.
  expect(servers.gaveUp()).toBe(false)
  expect(servers.listed()).toBeLessThanOrEqual(2)
})

test('a policy that matches no tool fails the start and cairn doctor, which report its line', async () => {
  const place = makePlace({
    scenario: { rules: [{ answer: { text: 'here' } }] },
    config: { agents: { assistant: { governance: { require_approval: ['*delete*', 'terminl'] } } } },
  })
  const sentence =
    /line \d+: agents\.assistant\.governance\.require_approval\.1: unknown tool "terminl" \(did you mean "terminal"\?\)/
  const doctor = await cairn(place, ['doctor'])
  expect(doctor.code).not.toBe(0)
  expect(doctor.stdout).toMatch(sentence)
  const served = await cairn(place, ['serve'])
  expect(served.code).not.toBe(0)
  expect(`${served.stdout}${served.stderr}`).toMatch(sentence)
})
