/**
 * MCP servers that misbehave in every way we know: each call ends at once, what is read of a server is
 * bounded, and the next call of another server works.
 */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Config, type ConfigInput } from '@cairn/protocol'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { expect, onTestFinished, test } from 'vitest'
import { mcpBoxes } from '../../src/mcp/boxed.ts'
import { type McpServers, startMcpServers } from '../../src/mcp/servers.ts'
import { runTool } from '../../src/tools/run-tool.ts'
import { type Answer, INITIALIZED, pay, type RpcRequest, sound, startRawServer } from '../mcp/raw-server.ts'
import { boxed } from '../sandbox/providers.ts'
import { systemClock } from '../../src/clock.ts'
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

const TOO_MUCH = /larger than 2 MiB \(max_answer_mb\)/
/** What a call of `pay` comes to, by what the server does with it. */
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

const open = (url: string, more: ConfigInput['mcp_servers'] = {}): McpServers => {
  const mcp = startMcpServers({
    servers: Config.parse({ mcp_servers: { x: { url }, ...more } }).mcp_servers,
    env: process.env,
    boxes: () => Promise.reject(new Error('this server asks for no box')),
    log: () => {},
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

test('whatever a server answers to a call, the call ends at once, and little of the answer is read', async () => {
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
      const said = (await callOf(mcp)).replace(
        /^Tool execution failed: (?:Streamable HTTP error: Error POSTing to endpoint: )?/,
        '',
      )
      const took = performance.now() - began
      if (!due.test(said)) unexpected.push(`${what}: ${said.slice(0, 200)}`)
      // Beside the two MiB, what the sockets of both sides hold.
      if (sent() > 16 * MIB) unexpected.push(`${what}: ${sent()} bytes were taken`)
      if (took > 20_000) unexpected.push(`${what}: it took ${took} ms`)
      await mcp.stop()
    }
  tally('MCP servers that misbehave in a call', tried, unexpected.length)
  expect(unexpected).toEqual([])
})

test('a server that ends its stream of events at once, and asks for the next without a pause, gets few', async () => {
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

const writes = (code: string): string[] => [
  '-e',
  // Answers the opening, and does what it likes with a call.
  `const say = m => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n')
   require('readline').createInterface({ input: process.stdin }).on('line', line => {
     const { id, method } = JSON.parse(line)
     if (method === 'initialize') say({ id, result: ${JSON.stringify(INITIALIZED)} })
     if (method === 'tools/list') say({ id, result: { tools: [${JSON.stringify(pay)}] } })
     if (method === 'tools/call') { ${code} }
   })`,
]

test.each(['none', 'box'] as const)(
  'a line without an end over stdio (sandbox: %s) ends the server, and nothing else',
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
      boxes: mcpBoxes({
        sandbox: { provider: await boxed(), proxy: null, standing: {} as never },
        dataDir,
        path: process.env['PATH'],
      }),
      log: (level, message, fields) => logged.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    })
    onTestFinished(() => mcp.stop())
    await mcp.ready
    expect(await callOf(mcp, 'mcp__endless__pay')).toMatch(/Connection closed/)
    expect(logged.join('\n')).toMatch(/endless went away.*ReadBuffer exceeded maximum size of 2097152 bytes/)
    expect(await callOf(mcp)).toBe('paid')
  },
)
