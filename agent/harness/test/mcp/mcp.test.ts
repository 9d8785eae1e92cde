/** The MCP client against real servers of the SDK, over stdio and over HTTP. */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { Config } from '@cairn/protocol'
import { freePort } from '@cairn/log/test/free-port'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '@cairn/models/clock'
import { type McpOptions, type McpServers, startMcpServers } from '../../src/capabilities/mcp/servers.ts'
import { mcpToolName } from '../../src/capabilities/mcp/tool-name.ts'
import { callTool } from '../../src/tools/call-tool.ts'
import { toolJsonSchema } from '../../src/tools/parameters.ts'
import { call, makeBench } from '../tools/bench.ts'
import { makeContext } from '../tools/tool-context.ts'
import { fakeClock } from '../turn/fake-clock.ts'
import { type TestServer, makeTestServer } from './mcp-server.ts'

const program = new URL('mcp-server.ts', import.meta.url).pathname
const stdio = (extra: object = {}) => ({
  command: process.execPath,
  args: [program],
  sandbox: 'none',
  ...extra,
})
const parse = (mcp_servers: object) => Config.parse({ mcp_servers }).mcp_servers

/** Sandboxes have their own tests (sandboxed.test.ts). */
const noBoxes = () => Promise.reject(new Error('no server of these tests asks for a box'))

type Started = McpServers & {
  logged: string[]
  run(tool: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<unknown>
}

async function start(servers: object, options: Partial<McpOptions> = {}): Promise<Started> {
  const logged: string[] = []
  const mcp = startMcpServers({
    servers: parse(servers),
    env: process.env,
    boxes: noBoxes,
    logger: (level, message, fields) => logged.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    random: () => 0,
    ...options,
  })
  onTestFinished(() => mcp.stop())
  await mcp.ready
  return {
    ...mcp,
    logged,
    async run(name, args = {}, signal = new AbortController().signal) {
      const tool = mcp.tools().find(one => one.name === name)
      if (tool === undefined) throw new Error(`no tool ${name}`)
      return (await tool.run(args, makeContext({ signal }))).content
    },
  }
}

type Http = {
  url: string
  servers: TestServer[]
  headers: IncomingMessage['headers'][]
  stop(): Promise<void>
  forget(): void
  port: number
}

/** The test server behind HTTP with sessions, as in the protocol. */
async function serveHttp(port = 0): Promise<Http> {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const servers: TestServer[] = []
  const headers: IncomingMessage['headers'][] = []
  const server: Server = createServer((request, response) => {
    headers.push(request.headers)
    void (async () => {
      const id = request.headers['mcp-session-id']
      let transport = typeof id === 'string' ? sessions.get(id) : undefined
      if (id !== undefined && transport === undefined) {
        response
          .writeHead(404)
          .end('{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}')
        return
      }
      if (transport === undefined) {
        const made = makeTestServer()
        const fresh = new StreamableHTTPServerTransport({
          sessionIdGenerator: () => randomUUID(),
          onsessioninitialized(session) {
            sessions.set(session, fresh)
            servers.push(made)
          },
        })
        await made.server.connect(fresh as Transport)
        transport = fresh
      }
      await transport.handleRequest(request, response)
    })()
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const http: Http = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    port: (server.address() as AddressInfo).port,
    servers,
    headers,
    forget: () => sessions.clear(),
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  onTestFinished(() => http.stop())
  return http
}

test.each([
  ['stdio', () => Promise.resolve(stdio())],
  ['HTTP', async () => ({ url: (await serveHttp()).url })],
])('over %s: lists tools with their schemas, runs them and maps their results', async (_, config) => {
  const mcp = await start({ test: await config() })
  const echo = mcp.tools().find(tool => tool.name === 'mcp__test__echo')
  expect(echo?.description).toBe('Says it again.')
  expect(echo === undefined ? null : toolJsonSchema(echo)).toEqual({
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
  })
  expect(await mcp.run('mcp__test__echo', { text: 'hello' })).toBe('hello')
  expect(await mcp.run('mcp__test__add', { a: 1, b: 2 })).toEqual({ sum: 3 })
  expect(await mcp.run('mcp__test__picture')).toBe(
    'see:\n[image: image/png, 3 bytes, saved as .cairn/results/call_1-1.png]\na memo',
  )
  await expect(mcp.run('mcp__test__fails')).rejects.toThrow('the disk is full')
  await expect(mcp.run('mcp__test__echo', { text: 7 })).rejects.toThrow(/text/)
})

test('a tool is read-only by configuration, never by its own hint', async () => {
  const mcp = await start({ hinted: stdio(), told: stdio({ read_only: ['add'] }) })
  expect(
    mcp
      .tools()
      .filter(tool => tool.readOnly)
      .map(tool => tool.name),
  ).toEqual(['mcp__told__add'])
})

test('a started server gets only PATH and the named variables', async () => {
  const mcp = await start(
    { test: stdio({ env: ['WANTED'] }) },
    { env: { ...process.env, WANTED: 'yes', SECRET: 'no' } },
  )
  expect(JSON.parse(String(await mcp.run('mcp__test__environment')))).toEqual(['PATH', 'WANTED'])
})

test('reads headers from the environment by name', async () => {
  const http = await serveHttp()
  await start(
    { test: { url: http.url, headers_env: { authorization: 'TEST_TOKEN' } } },
    { env: { TEST_TOKEN: 'Bearer abc' } },
  )
  expect(http.headers.length).toBeGreaterThan(0)
  expect(http.headers.every(headers => headers.authorization === 'Bearer abc')).toBe(true)
})

test('a server that cannot be reached affects only its own tools, and the log has the reason', async () => {
  const mcp = await start({
    good: stdio(),
    gone: { command: '/no/such/program', sandbox: 'none' },
    down: { url: 'http://127.0.0.1:9/mcp' },
    unset: stdio({ env: ['NOT_SET_ANYWHERE'] }),
    mute: {
      command: process.execPath,
      args: ['-e', 'console.error("bad licence"); process.exit(3)'],
      sandbox: 'none',
    },
  })
  expect(new Set(mcp.tools().map(tool => tool.name.split('__')[1]))).toEqual(new Set(['good']))
  for (const line of [
    /warn cannot connect to MCP server gone;.*ENOENT/,
    /warn cannot connect to MCP server down;.*(?:bad port|ECONNREFUSED)/,
    /error MCP server unset skipped: .*NOT_SET_ANYWHERE.* is not set/,
    /warn cannot connect to MCP server mute;.*bad licence/,
  ]) {
    expect(mcp.logged).toContainEqual(expect.stringMatching(line))
  }
})

test('restarts a server that died, with its tools, and does not repeat the interrupted call', async () => {
  const mcp = await start({ test: stdio() })
  await expect(mcp.run('mcp__test__die')).rejects.toThrow('Connection closed')
  expect(mcp.tools()).toEqual([])
  await expect.poll(() => mcp.tools().length).toBeGreaterThan(0)
  expect(await mcp.run('mcp__test__echo', { text: 'back' })).toBe('back')
})

test('retries at growing intervals', async () => {
  const waits: number[] = []
  const due: (() => void)[] = []
  const clock = {
    now: Date.now,
    monotonic: () => 0,
    after: (ms: number, run: () => void) => {
      waits.push(ms)
      due.push(run)
      return () => {}
    },
  }
  await start({ gone: { command: '/no/such/program' } }, { clock, random: () => 0.999 })
  for (let count = 1; count <= 8; count += 1) {
    await expect.poll(() => waits.length).toBe(count)
    due[count - 1]?.()
  }
  expect(waits.slice(0, 4)).toEqual([1249, 2248, 4246, 8242])
  expect(Math.max(...waits)).toBeLessThanOrEqual(60_250)
})

test('repeats a call once on a new session when the server has forgotten the old one', async () => {
  const http = await serveHttp()
  const mcp = await start({ test: { url: http.url } })
  http.forget()
  expect(await mcp.run('mcp__test__echo', { text: 'still here' })).toBe('still here')
  expect(http.servers).toHaveLength(2)
  expect(await mcp.run('mcp__test__echo', { text: 'and again' })).toBe('and again')
})

test('reconnects to an HTTP server that was down', async () => {
  const http = await serveHttp(await freePort())
  const mcp = await start({ test: { url: http.url } })
  await http.stop()
  await expect(mcp.run('mcp__test__echo', { text: 'x' })).rejects.toThrow(
    /cannot connect to MCP server 'test': /,
  )
  expect(mcp.tools()).toEqual([])
  await serveHttp(http.port)
  await expect.poll(() => mcp.tools().length).toBeGreaterThan(0)
  expect(await mcp.run('mcp__test__echo', { text: 'back' })).toBe('back')
})

test('lists new tools when the server announces them', async () => {
  const mcp = await start({ test: stdio() })
  await mcp.run('mcp__test__grow')
  await expect.poll(() => mcp.tools().some(tool => tool.name === 'mcp__test__grown')).toBe(true)
})

test('an abort cancels the call at the server', async () => {
  const http = await serveHttp()
  const mcp = await start({ test: { url: http.url } })
  const controller = new AbortController()
  const running = mcp.run('mcp__test__slow', {}, controller.signal)
  await expect.poll(() => http.servers[0]?.started()).toBe(1)
  controller.abort(new Error('the session was stopped'))
  await expect(running).rejects.toThrow('the session was stopped')
  await expect.poll(() => http.servers[0]?.cancelled()).toBe(1)
})

test('in a turn a failure and a timeout are failed tool results, and a timeout cancels at the server', async () => {
  await using bench = await makeBench()
  const http = await serveHttp()
  const mcp = await start({ test: { url: http.url } })
  const [fails, slow] = [call('mcp__test__fails'), call('mcp__test__slow')]
  await callTool(bench.deps({}, mcp.tools()), fails)
  const clock = fakeClock()
  const running = callTool(bench.deps({ timeoutMs: 200, clock }, mcp.tools()), slow)
  await clock.waitsFor(200)
  await expect.poll(() => http.servers[0]?.started()).toBe(1)
  clock.advance(200)
  await running
  expect(await bench.resultOf(fails)).toMatchObject({
    content: { error: 'Tool execution failed: the disk is full' },
  })
  expect(await bench.resultOf(slow)).toMatchObject({
    content: { error: 'Tool execution failed: timed out after 0.2 s' },
  })
  await expect.poll(() => http.servers[0]?.cancelled()).toBe(1)
})

test('stop ends the processes that it started, even one that is still starting', async () => {
  const mark = `cairn-mcp-${process.pid}-${Date.now()}`
  const mcp = startMcpServers({
    servers: parse({
      up: stdio({ args: [program, mark] }),
      hangs: stdio({ args: ['-e', 'setInterval(() => {}, 1000)', mark] }),
    }),
    env: process.env,
    boxes: noBoxes,
    logger: () => {},
    clock: systemClock,
  })
  await expect.poll(() => mcp.tools().length).toBeGreaterThan(0)
  await mcp.stop()
  await expect.poll(() => spawnSync('pgrep', ['-f', mark]).status).toBe(1)
})

test('tool names fit the limits of model servers, and no two tools share one', () => {
  expect(mcpToolName('git', 'create_issue')).toBe('mcp__git__create_issue')
  const odd = ['a.b', 'a/b', 'a_b', 'x'.repeat(100), 'x'.repeat(101)].map(tool =>
    mcpToolName('git.hub', tool),
  )
  expect(new Set(odd).size).toBe(5)
  for (const name of odd) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
})
