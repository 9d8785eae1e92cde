/** An MCP server cannot keep a loop of the client running or delay a turn. */
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { systemClock } from '@cairn/models/clock'
import type { McpServers } from '../../src/capabilities/mcp/servers.ts'
import { makeContext } from '../tools/tool-context.ts'
import { fakeClock } from '../turn/fake-clock.ts'
import { say, setStage } from '../turn/stage.ts'
import { type Answer, INITIALIZED, pay, type RawServer, sound } from './raw-server.ts'
import { startWithRawServer as start } from './started.ts'

const namesOf = (mcp: McpServers): string[] => mcp.tools().map(tool => tool.name)
const named = (name: string): typeof pay => ({ ...pay, name })
const listings = ({ asked }: RawServer): number => asked.filter(method => method === 'tools/list').length

test('ends a list at a repeated cursor, and logs it', async () => {
  const { mcp, server, logged } = await start({
    ...sound,
    'tools/list': () => ({ tools: [pay], nextCursor: 'more' }),
  })
  await mcp.ready
  expect(listings(server)).toBe(2)
  expect(namesOf(mcp)).toEqual(['mcp__x__pay'])
  expect(logged).toContainEqual(expect.stringMatching(/was cut: it sent the cursor "more" twice/))
  expect(logged).toContainEqual(
    expect.stringMatching(/lists a name twice, and the first tool is used: "pay"/),
  )
})

/** Promise 7: Listing an MCP server's tools ends, whatever cursors it returns. */
test('ends a list with a new cursor on every page after 100 pages, with or without tools', async () => {
  let pages = 0
  const { mcp, server, logged } = await start({
    ...sound,
    'tools/list': () => ({ tools: [named(`t${pages}`)], nextCursor: String(pages++) }),
  })
  await mcp.ready
  expect(listings(server)).toBe(100)
  expect(mcp.tools()).toHaveLength(100)
  expect(logged).toContainEqual(expect.stringMatching(/more than 100 pages/))
})

test('cuts a page of too many tools at 500', async () => {
  const { mcp, logged } = await start({
    ...sound,
    'tools/list': () => ({
      tools: Array.from({ length: 3000 }, (_, at) => named(`t${at}`)),
      nextCursor: 'on',
    }),
  })
  await mcp.ready
  expect(mcp.tools()).toHaveLength(500)
  expect(logged).toContainEqual(expect.stringMatching(/more than 500 tools/))
})

test('logs names of the configuration that a server does not have when the server is ready', async () => {
  const { mcp, logged } = await start(sound, {
    named: ['mcp__x__pay', 'mcp__x__p*', 'mcp__x__pya', 'mcp__x__z*', 'mcp__y__pay', 'terminal'],
  })
  await mcp.ready
  expect(logged).toContainEqual(
    'warn the configuration names tools that MCP server x does not have ' +
      '{"names":["mcp__x__pya","mcp__x__z*"],"tools":["mcp__x__pay"]}',
  )
})

/** The server sends `tools/list_changed` on its stream whenever the test writes to it. */
const withStream = (streams: ServerResponse[]): Record<string, Answer> => ({
  ...sound,
  GET: (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    streams.push(response)
    return undefined
  },
})
const CHANGED = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'

test("lists a server's tools at most once per pause, however often it reports a change", async () => {
  const streams: ServerResponse[] = []
  const { mcp, server } = await start(withStream(streams), { clock: fakeClock() })
  await mcp.ready
  await expect.poll(() => streams.length).toBe(1)
  streams[0]?.write(CHANGED)
  await expect.poll(() => listings(server)).toBe(2)
  streams[0]?.write(CHANGED.repeat(100))
  await mcp.tools()[0]?.run({}, makeContext())
  expect(listings(server)).toBe(2)
})

test('reconnects at growing intervals to a server that closes every connection at once', async () => {
  const waits: number[] = []
  const due: (() => void)[] = []
  const clock = {
    ...systemClock,
    after(ms: number, run: () => void) {
      // Limits are longer than the pauses that this test records.
      if (ms <= 10_000 && ms !== 2000) {
        waits.push(ms)
        due.push(run)
      }
      return () => undefined
    },
  }
  const { mcp } = await start(
    { ...sound, 'tools/call': (_, response) => void response.writeHead(503).end() },
    { clock },
  )
  await mcp.ready
  for (let round = 1; round <= 4; round += 1) {
    const [tool] = mcp.tools()
    await expect(tool?.run({}, makeContext({ timeoutMs: 9_000_000 }))).rejects.toThrow(/cannot connect to/)
    expect(waits).toHaveLength(round)
    due[round - 1]?.()
    await expect.poll(() => mcp.tools().length).toBe(1)
  }
  expect(waits).toEqual([1249, 2248, 4246, 8242])
})

/** Promise 7: An MCP server that does not answer delays neither a turn nor the shutdown. */
test('a server that accepts a connection and never answers delays neither a turn nor the shutdown', async () => {
  const held: ServerResponse[] = []
  const hold: Answer = (_, response) => void held.push(response)
  const { mcp } = await start({ ...sound, initialize: hold, DELETE: hold })
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: { user: 'first' }, answer: say('without it') },
        { when: { user: 'second' }, steps: [{ tool_calls: [{ name: 'mcp__x__pay' }] }, say('done')] },
      ],
    },
    mcp,
  })
  stage.start()
  await expect.poll(() => held.length).toBe(1)
  await stage.send('first')
  await stage.next('session.complete')
  // The call waits only for the connection attempt of its own server.
  await stage.send('second')
  await stage.next('llm.response', 2)
  held[0]
    ?.writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id: 0, result: INITIALIZED }))
  expect((await stage.next('tool.result')).data.content).toBe('paid')
  await stage.next('session.complete', 2)
})

test('offers tools that appear after the start in the next turn, and names an absent server to the model', async () => {
  let isUp = false
  const clock = fakeClock()
  const { mcp } = await start(
    {
      ...sound,
      initialize: (_, response) => (isUp ? INITIALIZED : void response.writeHead(500).end()),
    },
    { clock },
  )
  await mcp.ready
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: { user: 'first' }, steps: [{ tool_calls: [{ name: 'mcp__x__pay' }] }, say('absent')] },
        { when: { user: 'second', offers: ['mcp__x__pay'] }, answer: say('present') },
        { when: { user: 'second' }, answer: say('still absent') },
      ],
    },
    mcp,
  })
  stage.start()
  await stage.send('first')
  await stage.next('session.complete')
  expect((await stage.next('tool.result')).data.content).toContain(
    "MCP server 'x' is not connected, so mcp__x__pay was not called",
  )
  isUp = true
  clock.advance(60_000)
  await expect.poll(() => mcp.tools().length).toBe(1)
  await stage.send('second')
  await stage.next('session.complete', 2)
  expect((await stage.events()).findLast(({ type }) => type === 'llm.response')?.data).toMatchObject({
    message: { content: 'present' },
  })
})

test('a server that does not answer the end of its session does not delay the shutdown', async () => {
  const clock = fakeClock()
  const { mcp, logged } = await start(
    {
      ...sound,
      initialize: ({ id }, response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, result: INITIALIZED })),
      DELETE: () => undefined,
    },
    { clock },
  )
  await mcp.ready
  const stopping = mcp.stop()
  await clock.waitsFor(2000)
  clock.advance(2000)
  await stopping
  expect(logged).toContainEqual(expect.stringMatching(/ending the session took longer than 2 s/))
})
