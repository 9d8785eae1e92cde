/**
 * MCP servers that misbehave in every way we know: each call ends at once, reads a bounded amount, and the
 * next call of another server works.
 */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { Config, type ConfigInput } from '@cairn/protocol'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { expect, onTestFinished, test, vi } from 'vitest'
import { mcpSandboxes } from '../../src/capabilities/mcp/sandboxed.ts'
import { type McpServers, startMcpServers } from '../../src/capabilities/mcp/servers.ts'
import { runTool } from '../../src/tools/run-tool.ts'
import { type Answer, INITIALIZED, pay, type RpcRequest, sound, startRawServer } from '../mcp/raw-server.ts'
import { sandboxed } from '@cairn/sandbox/test/providers'
import { systemClock } from '@cairn/models/clock'
import { makeContext, makeFolder } from '../tools/tool-context.ts'

const MIB = 1024 * 1024
const SSE = { 'content-type': 'text/event-stream' }
const JSON_TYPE = { 'content-type': 'application/json' }
const event = (message: object): string => `data: ${JSON.stringify(message)}\n\n`
const result = ({ id }: RpcRequest, text: string) => ({
  jsonrpc: '2.0',
  id,
  result: { content: [{ type: 'text', text }] },
})

/** Writes `piece` until the client leaves or `bytes` are sent. */
async function flood(response: ServerResponse, piece: string, bytes = 150 * MIB): Promise<void> {
  const gone = once(response, 'close')
  for (let sent = 0; sent < bytes && !response.destroyed; sent += piece.length)
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), gone])
  response.end()
}
const floods =
  (headers: Record<string, string>, head: (request: RpcRequest) => string, piece: string): Answer =>
  (request, response) => {
    response.writeHead(200, headers).write(head(request))
    void flood(response, piece)
    return undefined
  }

const BOMB = gzipSync(Buffer.alloc(200 * MIB, 'x'))
const TOO_MUCH = /larger than 2 MiB \(max_answer_mb\)/
/** The result of a call of `pay`, by what the server does with it. */
const CALLS: Record<string, { call: Answer; due: RegExp }> = {
  'a JSON answer without an end': {
    call: floods(JSON_TYPE, () => '{"jsonrpc":"2.0","id":9,"result":{"a":"', 'x'.repeat(65_536)),
    due: TOO_MUCH,
  },
  'an event without an end': { call: floods(SSE, () => 'data: ', 'x'.repeat(65_536)), due: TOO_MUCH },
  'comments without an end': { call: floods(SSE, () => ': \n', `: ${'x'.repeat(65_536)}\n`), due: TOO_MUCH },
  'notifications without an end': {
    call: floods(
      SSE,
      () => '',
      event({ jsonrpc: '2.0', method: 'notifications/message', params: {} }).repeat(500),
    ),
    due: TOO_MUCH,
  },
  'events with ids, cut at the maximum': {
    call: floods(SSE, () => 'id: 1\nretry: 0\ndata: \n\n', `: ${'x'.repeat(65_536)}\n`),
    due: TOO_MUCH,
  },
  'a stream that ends without a result': {
    call: (_, response) => void response.writeHead(200, SSE).end(': nothing\n\n'),
    due: /ended its answer without a result/,
  },
  'a stream that ends within an event': {
    call: (request, response) =>
      void response.writeHead(200, SSE).end(event(result(request, 'late')).slice(0, -12)),
    due: /ended its answer without a result/,
  },
  'a stream that breaks': {
    call: (_, response) => {
      response.writeHead(200, SSE).write(': soon\n\n')
      setImmediate(() => response.destroy())
      return undefined
    },
    due: /broke before its answer was complete/,
  },
  'the answer to another request': {
    call: (request, response) =>
      void response.writeHead(200, SSE).end(event({ ...result(request, 'yours'), id: 4711 })),
    due: /ended its answer without a result/,
  },
  'an answer and then an end': {
    call: (request, response) => void response.writeHead(200, SSE).end(event(result(request, 'fine'))),
    due: /^fine$/,
  },
  'a refusal without an end': {
    call: (_, response) => {
      response.writeHead(400)
      void flood(response, 'x'.repeat(65_536))
      return undefined
    },
    due: /^x{100}/,
  },
  'a redirect to itself': {
    call: (_, response) => void response.writeHead(307, { location: '/mcp' }).end(),
    due: /Redirect/,
  },
  'a redirect to an address of this machine': {
    call: (_, response) => void response.writeHead(307, { location: 'http://127.0.0.1:22/' }).end(),
    due: /Redirect to http:\/\/127\.0\.0\.1:22\/ not followed/,
  },
  'a compressed answer that grows a thousandfold': {
    call: (_, response) =>
      void response.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(BOMB),
    due: TOO_MUCH,
  },
  'a compressed stream that grows a thousandfold': {
    call: (_, response) => void response.writeHead(200, { ...SSE, 'content-encoding': 'gzip' }).end(BOMB),
    due: TOO_MUCH,
  },
  'an answer nested 100,000 levels deep': {
    call: ({ id }, response) => {
      const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
      response
        .writeHead(200, JSON_TYPE)
        .end(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"a":${deep}}}}`)
      return undefined
    },
    due: /nested deeper/,
  },
}

/** Counts what this process writes to the standard input of its children. */
function watchReplies(): { written: () => number } {
  let written = 0
  const write = vi.spyOn(Socket.prototype, 'write').mockImplementation(function (this: Socket, ...args) {
    if (String(args[0]).includes('"result"')) written += 1
    return Writable.prototype.write.apply(this, args as never)
  })
  onTestFinished(() => write.mockRestore())
  return { written: () => written }
}

const open = (url: string, more: ConfigInput['mcp_servers'] = {}): McpServers => {
  const mcp = startMcpServers({
    servers: Config.parse({ mcp_servers: { x: { url }, ...more } }).mcp_servers,
    env: process.env,
    boxes: () => Promise.reject(new Error('this server asks for no box')),
    logger: () => {},
  })
  onTestFinished(() => mcp.stop())
  return mcp
}
const toolNamed = (mcp: McpServers, name: string) => {
  const found = mcp.tools().find(tool => tool.name === name)
  if (found === undefined) throw new Error(`no tool ${name}`)
  return found
}
async function callOf(mcp: McpServers, name = 'mcp__x__pay'): Promise<string> {
  const { content } = await runTool(toolNamed(mcp, name), {}, makeContext(), {
    clock: systemClock,
    signal: new AbortController().signal,
    defaultTimeoutMs: 60_000,
  })
  return typeof content === 'string' ? content : String(content['error'])
}

/** Promise 14.6: An MCP call ends and reads a bounded amount, whatever the server answers. */
test('whatever a server answers to a call, the call ends at once and reads a bounded amount', async () => {
  const unexpected: string[] = []
  let tried = 0
  for (let round = 0; round < rounds(1, 10); round += 1)
    for (const [what, { call, due }] of Object.entries(CALLS)) {
      let sent = (): number => 0
      await using server = await startRawServer({
        ...sound,
        'tools/call': (request, response) => {
          const { socket } = response
          sent = () => socket?.bytesWritten ?? 0
          return call(request, response)
        },
      })
      const mcp = open(server.url)
      await mcp.ready
      tried += 1
      const began = performance.now()
      const said = (await callOf(mcp)).replace(/^Tool execution failed: (?:Error POSTing to endpoint: )?/, '')
      const took = performance.now() - began
      if (!due.test(said)) unexpected.push(`${what}: ${said.slice(0, 200)}`)
      // The two MiB, plus the buffers of both sockets.
      if (sent() > 16 * MIB) unexpected.push(`${what}: ${sent()} bytes were taken`)
      if (took > 20_000) unexpected.push(`${what}: it took ${took} ms`)
      await mcp.stop()
    }
  tally('MCP servers that misbehave in a call', tried, unexpected.length)
  expect(unexpected).toEqual([])
})

test('a server that ends its event stream at once and asks for no retry delay gets few reconnects', async () => {
  await using server = await startRawServer({
    ...sound,
    GET: (_, response) => void response.writeHead(200, SSE).end('retry: 0\n\n'),
  })
  const mcp = open(server.url)
  await mcp.ready
  await expect.poll(() => server.asked.filter(method => method === 'GET').length).toBe(5)
  for (let count = 0; count < 50; count += 1) await callOf(mcp)
  expect(server.asked.filter(method => method === 'GET').length).toBeLessThan(9)
})

const REQUESTS = ['ping', 'roots/list', 'sampling/createMessage', 'elicitation/create', 'no/such']

test('a server that sends the client 20,000 requests gets about a hundred answers', async () => {
  await using server = await startRawServer({
    ...sound,
    'tools/call': (request, response) => {
      response.writeHead(200, SSE)
      for (let id = 0; id < 20_000; id += 1)
        response.write(event({ jsonrpc: '2.0', id, method: REQUESTS[id % REQUESTS.length] }))
      response.end(event(result(request, 'fine')))
      return undefined
    },
  })
  const mcp = open(server.url)
  await mcp.ready
  const before = server.asked.length
  expect(await callOf(mcp)).toBe('fine')
  await mcp.stop()
  tally('requests of an MCP server to its client', 20_000, 0)
  expect(server.asked.length - before).toBeLessThan(130)
})

test('tool names with line ends, escape sequences or a megabyte reach neither the model nor the log unchanged', async () => {
  const names = [
    'a\nINFO all is well',
    'b\u001B[2J',
    'x'.repeat(1_000_000),
    '',
    '__proto__',
    'constructor',
    '../../etc',
  ]
  await using server = await startRawServer({
    ...sound,
    'tools/list': () => ({
      tools: names.flatMap(name => [
        { ...pay, name },
        { ...pay, name },
      ]),
    }),
  })
  const logged: string[] = []
  const mcp = startMcpServers({
    servers: Config.parse({ mcp_servers: { x: { url: server.url } } }).mcp_servers,
    env: {},
    boxes: () => Promise.reject(new Error('this server asks for no box')),
    logger: (level, message, fields) => logged.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
  })
  onTestFinished(() => mcp.stop())
  await mcp.ready
  for (const { name } of mcp.tools()) expect(name).toMatch(/^mcp__x__[A-Za-z0-9_-]*$/)
  expect(new Set(mcp.tools().map(({ name }) => name)).size).toBe(mcp.tools().length)
  // oxlint-disable-next-line no-control-regex -- such characters are what the log must not have
  expect(logged.filter(line => /[\u0000-\u001F]/.test(line) || line.length > 3000)).toEqual([])
})

const writes = (code: string): string[] => [
  '-e',
  // Answers the initialization, and does what it likes with a call.
  `const say = m => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n')
   require('readline').createInterface({ input: process.stdin }).on('line', line => {
     const { id, method } = JSON.parse(line)
     if (method === 'initialize') say({ id, result: ${JSON.stringify(INITIALIZED)} })
     if (method === 'tools/list') say({ id, result: { tools: [${JSON.stringify(pay)}] } })
     if (method === 'tools/call') { ${code} }
   })`,
]

test('a stdio server that floods requests and reads no answers uses no memory for the answers', async () => {
  const ask = `process.stdin.pause(); setInterval(() => {
    for (let id = 0; id < 500; id++) say({ id, method: 'ping' })
  }, 1)`
  const mcp = startMcpServers({
    servers: Config.parse({
      mcp_servers: { asking: { command: process.execPath, args: writes(ask), sandbox: 'none' } },
    }).mcp_servers,
    env: process.env,
    boxes: () => Promise.reject(new Error('this server asks for no box')),
    logger: () => {},
  })
  onTestFinished(() => mcp.stop())
  await mcp.ready
  const replies = watchReplies()
  const { content } = await runTool(toolNamed(mcp, 'mcp__asking__pay'), {}, makeContext(), {
    clock: systemClock,
    signal: new AbortController().signal,
    defaultTimeoutMs: 1500,
  })
  expect(String(Object.values(content))).toMatch(/timed out after 1.5 s/)
  expect(replies.written()).toBeLessThan(250)
})

test.each(['none', 'box'] as const)(
  'an endless line over stdio (sandbox: %s) ends only that server',
  async sandbox => {
    await using server = await startRawServer(sound)
    const dataDir = makeFolder('mcp')
    const logged: string[] = []
    const mcp = startMcpServers({
      servers: Config.parse({
        mcp_servers: {
          x: { url: server.url },
          endless: {
            command: process.execPath,
            args: writes(`setInterval(() => process.stdout.write('x'.repeat(65536)), 1)`),
            sandbox,
          },
        },
      }).mcp_servers,
      env: process.env,
      boxes: mcpSandboxes({
        sandbox: { provider: await sandboxed(), proxy: null, standing: {} as never },
        dataDir,
        path: process.env['PATH'],
      }),
      logger: (level, message, fields) => logged.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    })
    onTestFinished(() => mcp.stop())
    await mcp.ready
    expect(await callOf(mcp, 'mcp__endless__pay')).toMatch(/Connection closed/)
    expect(logged.join('\n')).toMatch(/lost MCP server endless;.*exceeded maximum size of 2097152 bytes/)
    expect(await callOf(mcp)).toBe('paid')
  },
)
