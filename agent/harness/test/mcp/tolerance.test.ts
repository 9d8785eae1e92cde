/** A bad tool, content block or session of an MCP server costs itself and nothing else. */
import { existsSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { toolJsonSchema } from '../../src/tools/parameters.ts'
import type { ToolContext } from '../../src/tools/tool.ts'
import { makeContext } from '../tools/tool-context.ts'
import { fakeClock } from '../turn/fake-clock.ts'
import { type Answer, INITIALIZED, pay, type RpcRequest, sound } from './raw-server.ts'
import { type Started, startWithRawServer } from './started.ts'

const listed = (...tools: unknown[]): Record<string, Answer> => ({
  ...sound,
  'tools/list': () => ({ tools }),
})
const namesOf = ({ mcp }: Started): string[] => mcp.tools().map(({ name }) => name)
const count = ({ server }: Started, method: string): number =>
  server.asked.filter(asked => asked === method).length
async function run({ mcp }: Started, context: ToolContext = makeContext()) {
  const tool = mcp.tools()[0]
  if (tool === undefined) throw new Error('the server has no tool')
  return tool.run({}, context)
}

test('a bad tool costs itself: the others are offered, and the reason reaches the log and the model', async () => {
  const started = await startWithRawServer(
    listed(
      pay,
      { name: 'text', inputSchema: { type: 'string' } },
      { name: 'bare' },
      { name: 'empty', inputSchema: null, description: 7, title: ['x'] },
      { name: 'list', inputSchema: ['a'] },
      { description: 'It has no name.', inputSchema: { type: 'object' } },
      { name: 7 },
      null,
      'pay',
      { ...pay, description: 'The same name.' },
      { ...pay, name: 'extra', outputSchema: 'none', annotations: 'none', icons: 7, execution: [] },
    ),
  )
  const { mcp, logged } = started
  await mcp.ready
  expect(namesOf(started)).toEqual(['mcp__x__pay', 'mcp__x__bare', 'mcp__x__empty', 'mcp__x__extra'])
  for (const problem of [
    /cut: "text" has no usable definition: its input schema has the type "string"/,
    /cut: "list" has no usable definition: its input schema is a list/,
    /cut: an entry has no name: .*It has no name/,
    /cut: an entry is not an object: "pay"|cut: an entry is not an object: \\?"pay/,
    /cut: it lists a name twice, and the first tool is used: "pay"/,
  ])
    expect(logged).toContainEqual(expect.stringMatching(problem))
  expect(await mcp.find('mcp__x__text', new AbortController().signal)).toEqual({
    absence: expect.stringMatching(/^the tool "text" of MCP server 'x' is left out because .*"string"/),
  })
})

test.each([
  ['null', null],
  ['an object', { pay }],
])('a page whose tools are %s costs the page, and the session stays open', async (_, tools) => {
  const started = await startWithRawServer({
    ...sound,
    'tools/list': ({ params }) =>
      params['cursor'] === undefined ? { tools: [pay], nextCursor: 'on' } : { tools, nextCursor: null },
  })
  await started.mcp.ready
  expect(namesOf(started)).toEqual(['mcp__x__pay'])
  expect(started.logged).toContainEqual(expect.stringMatching(/a page of its list has no array of tools/))
})

test('every schema that is offered has the form that model servers require', async () => {
  const started = await startWithRawServer(
    listed(
      { name: 'ping', inputSchema: { type: 'object' } },
      {
        name: 'deep',
        inputSchema: { $ref: '#/definitions/In', definitions: { In: { properties: { a: 'str' } } } },
      },
      {
        name: 'either',
        inputSchema: { anyOf: [{ type: 'object', properties: { 'a b': {} } }, { type: 'object' }] },
      },
      { name: 'long '.repeat(40), description: '', inputSchema: { type: 'object', properties: [] } },
    ),
  )
  await started.mcp.ready
  expect(namesOf(started)).toHaveLength(4)
  for (const tool of started.mcp.tools()) {
    const schema = toolJsonSchema(tool)
    expect(tool.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(tool.description).not.toBe('')
    expect(schema['type']).toBe('object')
    expect(Object.keys(schema['properties'] as object).every(key => /^[\w.-]{1,64}$/.test(key))).toBe(true)
    expect(JSON.stringify(schema)).not.toMatch(/\$ref|definitions|anyOf/)
  }
})

test('a tool whose names were replaced is called with the names of the server', async () => {
  let called: unknown
  const started = await startWithRawServer({
    ...listed({
      name: 'look.up/it',
      inputSchema: { type: 'object', properties: { 'file path': { type: 'string' } } },
    }),
    'tools/call': ({ params }) => {
      called = params
      return { content: [] }
    },
  })
  await started.mcp.ready
  const [tool] = started.mcp.tools()
  const [key = ''] = Object.keys(toolJsonSchema(tool!)['properties'] as object)
  await tool?.run({ [key]: 'a.txt' }, makeContext())
  expect(called).toMatchObject({ name: 'look.up/it', arguments: { 'file path': 'a.txt' } })
})

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

test.each([
  [
    'a block of an unknown type',
    [{ type: 'hologram', x: 1 }],
    /^\[content of the type "hologram" that cannot be read: .*\]\nfine$/,
  ],
  ['a link without a name', [{ type: 'resource_link', uri: 'memo:1' }], /^\[resource: memo:1\]\nfine$/],
  ['a text that is a number', [{ type: 'text', text: 7 }], /^\[content of the type "text" .*\]\nfine$/],
  [
    'a picture without data',
    [{ type: 'image', mimeType: 'image/png' }],
    /^\[content of the type "image" .*\]\nfine$/,
  ],
  [
    'a picture that is not base64',
    [{ type: 'image', data: 'é!' }],
    /^\[content of the type "image" .*\]\nfine$/,
  ],
  [
    'null and a text',
    [null, 'x'],
    /^\[content of the type "object" .*: null\]\n\[content of the type "string" .*\]\nfine$/,
  ],
  [
    'a resource with neither text nor blob',
    [{ type: 'resource', resource: {} }],
    /^\[content of the type "resource" .*\]\nfine$/,
  ],
])('%s costs itself, and the rest of the result is read', async (_, blocks, expected) => {
  const started = await startWithRawServer({
    ...sound,
    'tools/call': () => ({ content: [...blocks, { type: 'text', text: 'fine', annotations: 7 }] }),
  })
  await started.mcp.ready
  expect((await run(started)).content).toMatch(expected)
})

test('an answer that is no message of the protocol fails its call in one line', async () => {
  const started = await startWithRawServer({ ...sound, 'tools/call': () => ({ content: [], _meta: 'x' }) })
  await started.mcp.ready
  await expect(run(started)).rejects.toThrow(/^the answer of the server is not a message .*$/)
})

test.each([
  [
    'a line of text',
    { content: [{ type: 'text', text: 'Found 2.' }], structuredContent: { a: [1, 2] } },
    'Found 2.\n\nStructured content:\n{"a":[1,2]}',
  ],
  [
    'its own JSON',
    { content: [{ type: 'text', text: '{ "a": [1, 2] }' }], structuredContent: { a: [1, 2] } },
    '{ "a": [1, 2] }',
  ],
  ['no text', { content: [], structuredContent: { a: 1 } }, { a: 1 }],
  ['no content at all', { structuredContent: [1] }, '[1]'],
  ['content that is a text', { content: 'plain' }, 'plain'],
  ['a result of the first revision', { toolResult: { a: 1 } }, { a: 1 }],
])('structured content beside %s is kept', async (_, result, expected) => {
  const started = await startWithRawServer({ ...sound, 'tools/call': () => result })
  await started.mcp.ready
  expect((await run(started)).content).toEqual(expected)
})

test('pictures, audio and files of a result are saved in the workspace, with their paths', async () => {
  const started = await startWithRawServer({
    ...sound,
    'tools/call': () => ({
      content: [
        { type: 'image', mimeType: 'image/jpeg', data: `data:image/jpeg;base64,${PNG}` },
        { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' },
        { type: 'resource', resource: { uri: 'file:///report.XLSX', blob: 'AAAAAA==' } },
        { type: 'image', mimeType: 'image/png', data: 'AAAAAAAAAAAA' },
      ],
    }),
  })
  await started.mcp.ready
  const context = makeContext({ tool_call_id: 'call/1' })
  const { content, pictures } = await run(started, context)
  const lines = String(content).split('\n')
  expect(lines).toEqual([
    expect.stringMatching(
      /^\[image: image\/png, 70 bytes, saved as \.cairn\/results\/call_1-[0-9a-f]{12}-1\.png\]$/,
    ),
    expect.stringMatching(/^\[audio: audio\/wav, 3 bytes, saved as .*-2\.wav\]$/),
    expect.stringMatching(/^\[resource: application\/octet-stream, 4 bytes, saved as .*-3\.xlsx\]$/),
    expect.stringMatching(/^\[image: image\/png, 9 bytes, saved as .*-4\.png\]$/),
  ])
  const paths = lines.map(line => /saved as (.*)\]/.exec(line)?.[1] ?? '')
  expect(readFileSync(join(context.workspace, paths[0] ?? '')).toString('base64')).toBe(PNG)
  for (const path of paths) expect(existsSync(join(context.workspace, path))).toBe(true)
  // Nine bytes are no picture, whatever the server calls them.
  expect(pictures).toEqual([{ path: paths[0], mime_type: 'image/png' }])
})

test('a file that does not fit in the workspace, and the files beyond 20, are named and not saved', async () => {
  const started = await startWithRawServer(
    {
      ...sound,
      'tools/call': () => ({
        content: Array.from({ length: 22 }, () => ({ type: 'audio', mimeType: 'audio/ogg', data: 'AAAA' })),
      }),
    },
    {
      quota: {
        mustFit: (_, bytes) => (bytes > 2 ? Promise.reject(new Error('no space')) : Promise.resolve()),
      },
    },
  )
  await started.mcp.ready
  const lines = String((await run(started)).content).split('\n')
  expect(lines[0]).toBe('[audio: audio/ogg, 3 bytes, not saved: no space]')
  expect(lines[21]).toBe('[audio: audio/ogg, 3 bytes, not saved: at most 20 files of a result are]')
})

/** A server with sessions that forgets the first one; `refuse` answers its requests from then on. */
function forgetful(refuse: (request: RpcRequest, response: ServerResponse) => undefined): {
  answers: Record<string, Answer>
  forget(): void
} {
  let opened = 0
  let forgotten = 0
  const guarded =
    (answer: Answer): Answer =>
    (request, response) =>
      forgotten === opened ? refuse(request, response) : answer(request, response)
  return {
    answers: {
      initialize({ id }, response) {
        opened += 1
        response
          .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `s${opened}` })
          .end(JSON.stringify({ jsonrpc: '2.0', id, result: INITIALIZED }))
        return undefined
      },
      'tools/list': guarded(() => ({ tools: [pay] })),
      'tools/call': guarded(() => ({ content: [{ type: 'text', text: 'paid' }] })),
    },
    forget: () => void (forgotten = opened),
  }
}
const refuseWith =
  (status: number, message: string) =>
  (_: RpcRequest, response: ServerResponse): undefined => {
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }))
    return undefined
  }

test.each([
  ['400', refuseWith(400, 'Bad Request: No valid session ID provided')],
  ['401', refuseWith(401, 'Unknown session')],
  ['403', refuseWith(403, 'Forbidden')],
  ['410', refuseWith(410, 'Gone')],
  ['422', refuseWith(422, 'Session not initialized')],
])(
  'a session that is refused with the status %s is replaced, and the call is repeated',
  async (_, refuse) => {
    const { answers, forget } = forgetful(refuse)
    const started = await startWithRawServer(answers)
    await started.mcp.ready
    forget()
    expect((await run(started)).content).toBe('paid')
    expect(count(started, 'initialize')).toBe(2)
    expect((await run(started)).content).toBe('paid')
    expect(count(started, 'initialize')).toBe(2)
  },
)

test('a session in which every answer is an error is replaced before the next call', async () => {
  const { answers, forget } = forgetful(({ id }, response) => {
    const error = { code: -32_602, message: 'Received request before initialization was complete' }
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, error }))
    return undefined
  })
  const started = await startWithRawServer(answers)
  await started.mcp.ready
  forget()
  await expect(run(started)).rejects.toThrow('before initialization')
  expect((await run(started)).content).toBe('paid')
  expect(count(started, 'tools/call')).toBe(2)
})

test('an approved call after the loss of its session runs in the new one', async () => {
  const { answers, forget } = forgetful(refuseWith(400, 'No valid session ID provided'))
  const started = await startWithRawServer(answers)
  await started.mcp.ready
  forget()
  await started.mcp.tools()[0]?.definition?.confirm()
  expect((await run(started)).content).toBe('paid')
  expect(count(started, 'tools/call')).toBe(1)
})

test.each([
  ['one call with 400', refuseWith(400, 'amount is missing'), /amount is missing/],
  ['every request for now, with 429', refuseWith(429, 'slow down'), /slow down/],
])('a server that refuses %s keeps its session, and the call is not repeated', async (_, refuse, reason) => {
  const started = await startWithRawServer({ ...sound, 'tools/call': refuse })
  await started.mcp.ready
  await expect(run(started)).rejects.toThrow(reason)
  expect(count(started, 'tools/call')).toBe(1)
  expect(count(started, 'initialize')).toBe(1)
  expect(namesOf(started)).toEqual(['mcp__x__pay'])
})

const CHANGED = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'
const SSE = { 'content-type': 'text/event-stream' }

test.each([
  ['after each list', 1],
  ['fifty times after each list', 50],
])('a server that announces a change %s is listed at growing intervals', async (_, times) => {
  let stream: ServerResponse | null = null
  const clock = fakeClock()
  const started = await startWithRawServer(
    {
      ...sound,
      'tools/list': () => {
        stream?.write(CHANGED.repeat(times))
        return { tools: [pay] }
      },
      GET: (_request, response) => {
        response.writeHead(200, SSE).flushHeaders()
        stream = response
        return undefined
      },
    },
    { clock },
  )
  await started.mcp.ready
  await expect.poll(() => stream).not.toBeNull()
  // It begins with the first announcement, which the list answers with the next one.
  ;(stream as unknown as ServerResponse).write(CHANGED)
  for (const [round, pause] of [1000, 2000, 4000, 8000].entries()) {
    await expect.poll(() => count(started, 'tools/list')).toBe(round + 2)
    await clock.waitsFor(pause)
    clock.advance(pause)
  }
  await expect.poll(() => count(started, 'tools/list')).toBe(6)
})

test('announcements within the stream of each answer cause no list of their own', async () => {
  const clock = fakeClock()
  const started = await startWithRawServer(
    {
      ...sound,
      'tools/list': ({ id }, response) =>
        void response
          .writeHead(200, SSE)
          .end(
            `${CHANGED}data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [pay] } })}\n\n${CHANGED}`,
          ),
    },
    { clock },
  )
  await started.mcp.ready
  for (let calls = 0; calls < 3; calls += 1) expect((await run(started)).content).toBe('paid')
  expect(count(started, 'tools/list')).toBeLessThanOrEqual(5)
})
