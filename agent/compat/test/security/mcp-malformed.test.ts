/**
 * Oversized and malformed requests to the MCP server. What comes out is an error of the protocol, never one
 * of the server, which answers others all the time.
 */
import type { Service } from '@cairn/api/test/service'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { expect, test } from 'vitest'
import { legacy, MCP_PATH, modern, type Request, send } from '../mcp/mcp-requests.ts'
import { startAttacked, stays } from '../mcp/mcp-stage.ts'

const DEEP = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
const BROKEN: Readonly<Record<string, string | Uint8Array>> = {
  nothing: '',
  'no JSON': '{',
  'no UTF-8': new Uint8Array([0x22, 0xff, 0xfe, 0x22]),
  null: 'null',
  'a number': '7',
  'a batch': '[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]',
  'an empty batch': '[]',
  'no method': '{"jsonrpc":"2.0","id":1}',
  'another version': '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
  'an object as id': '{"jsonrpc":"2.0","id":{},"method":"tools/list"}',
  'a number as method': '{"jsonrpc":"2.0","id":1,"method":7}',
  'an array as params': '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}',
  'params without a name': '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}',
  'a prototype':
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"__proto__","arguments":{}}}',
  'deep nesting': `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","a":${DEEP}}}`,
  'an answer to nothing': '{"jsonrpc":"2.0","id":"x","result":{}}',
  'an error to nothing': '{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"x"}}',
  'an answer to the introduction': '{"jsonrpc":"2.0","id":"cairn-initialize","result":{}}',
}

/** Alive: the next caller gets its answer, and nothing was logged as an error. */
async function isAlive(service: Service): Promise<void> {
  const { status, json } = await send(service, service.adminToken, modern('tools/list'))
  expect([status, json.result.tools.length]).toEqual([200, 9])
  expect(service.logged.filter(({ level }) => level === 'error')).toEqual([])
}

test.each([
  ['2026-07-28', modern],
  ['2025-11-25', legacy],
] as const)('%s: malformed and oversized requests are errors of the protocol', async (_revision, write) => {
  const { service, taskId, session } = await startAttacked()
  await using _ = service
  const { headers } = write('tools/list')
  const raw = (body: string | Uint8Array, more: Record<string, string> = {}) =>
    service.call(MCP_PATH, { method: 'POST', raw: body, headers: { ...headers, ...more } })
  let tried = 0
  for (const [what, body] of Object.entries(BROKEN)) {
    const { status, text } = await raw(body)
    expect([what, status < 500, text.includes('"error"')]).toEqual([what, true, true])
    tried += 1
  }
  expect((await raw(' '.repeat(5 * 1024 * 1024))).status).toBe(413)
  const long = 'x'.repeat(300_000)
  const calls: Request[] = [
    write('tools/call', { name: 'start_session', arguments: { message: long } }),
    write('tools/call', { name: 'start_session', arguments: { message: '' } }),
    write('tools/call', { name: 'start_session', arguments: { message: { text: 'x' } } }),
    write('tools/call', { name: 'wait', arguments: { session_id: session, seconds: 1e9 } }),
    write('tools/call', { name: 'wait', arguments: { session_id: session, after: -1 } }),
    write('tools/call', { name: 'read_session', arguments: { session_id: session, limit: 1e9 } }),
    write('tools/call', { name: 'search', arguments: { q: long } }),
    write('tools/call', { name: 'list_sessions', arguments: { cursor: long } }),
    write('tools/call', {
      name: 'answer',
      arguments: { item_id: session, responses: Array.from({ length: 1000 }, () => ({})) },
    }),
    write('tools/call', { name: long, arguments: {} }),
    write(long),
    write('initialize', { protocolVersion: long, capabilities: long }),
    modern('tasks/get', { taskId: long }),
    modern('tasks/update', { taskId }),
    modern('subscriptions/listen', { notifications: { taskIds: Array(500).fill(taskId) } }),
  ]
  for (const request of calls) {
    const { status, text } = await send(service, service.adminToken, request)
    expect(status < 500 || text.includes('"code":-3260')).toBe(true)
    // An error may name what a header and the body say, and nothing more.
    expect(text.length).toBeLessThan(2 * JSON.stringify(request.body).length + 20_000)
    expect(text).toMatch(/"error"|"isError":true|protocolVersion|acknowledged/)
    tried += 1
  }
  const statuses = {
    get: (await service.call(MCP_PATH, { headers })).status,
    delete: (await service.call(MCP_PATH, { method: 'DELETE', headers })).status,
    'another path': (await service.call(`${MCP_PATH}/x`, { method: 'POST', headers, raw: '{}' })).status,
    'another type': (await raw('{}', { 'content-type': 'text/plain' })).status,
    'a forged session': (
      await service.call(MCP_PATH, {
        method: 'POST',
        body: legacy('tools/list').body,
        headers: { ...legacy('tools/list').headers, 'mcp-session-id': '../x' },
      })
    ).status,
    'an unknown revision': (await raw('{}', { 'mcp-protocol-version': '1999-01-01' })).status,
  }
  expect(statuses).toEqual({
    get: 405,
    delete: 405,
    'another path': 404,
    'another type': 415,
    'a forged session': 404,
    'an unknown revision': 400,
  })
  await isAlive(service)
  tally('MCP: malformed and oversized requests', tried + 7, 0)
})

/** Reproducible: the number of the attempt determines everything about it. */
function randomOf(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const ATTEMPTS = rounds(300, 5_000)

test(`${ATTEMPTS} requests with random bytes changed bring no error of the server`, async () => {
  const { service, taskId, session } = await startAttacked()
  await using _ = service
  const valid: Request[] = [
    modern('tools/list'),
    modern('server/discover'),
    modern('tools/call', { name: 'wait', arguments: { session_id: session, seconds: 0 } }),
    modern('tasks/get', { taskId }),
    modern('tasks/update', { taskId, inputResponses: { apr_2: { action: 'accept', content: {} } } }),
    legacy('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} }),
    legacy('tools/call', { name: 'read_session', arguments: { session_id: session } }),
  ]
  let unexpected = 0
  for (let nth = 0; nth < ATTEMPTS; nth++) {
    const random = randomOf(nth)
    const { body, headers } = valid[nth % valid.length] as Request
    const bytes = Buffer.from(JSON.stringify(body))
    for (let change = 0; change <= random() * 4; change++)
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
    const cut = random() < 0.2 ? bytes.subarray(0, Math.floor(random() * bytes.length)) : bytes
    const answer = await service.call(MCP_PATH, { method: 'POST', raw: cut, headers })
    if (answer.status >= 500) {
      console.log(`attempt ${nth}: ${answer.status} ${answer.text.slice(0, 200)}`)
      unexpected += 1
    }
  }
  expect(unexpected).toBe(0)
  await isAlive(service)
  await stays(service)
  tally('MCP: random bytes', ATTEMPTS, unexpected)
})
