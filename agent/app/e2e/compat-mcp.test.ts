/** The official clients of MCP, unchanged, against the service. */
import { expect, test, vi } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import {
  type McpClient,
  openClient,
  openTasks,
  overStdio,
  type Person,
  type Place,
  rawRequests,
  type Revision,
  REVISIONS,
} from './mcp-client.ts'
import { makePlace, type RunningService, startService } from './server.ts'
import { PATIENCE_MS } from './session.ts'

async function start(): Promise<Place & { server: RunningService; env: Record<string, string> }> {
  const place = makePlace({ scenario: SCENARIO, config: CONFIG })
  const server = await startService(place)
  return { server, url: server.url, token: await localToken(place.dataDir), env: place.env }
}

async function begin({ call }: McpClient, message: string): Promise<string> {
  const { data } = await call('start_session', { message })
  return String(data['session_id'])
}
const rest = ({ call }: McpClient, session_id: string) => call('wait', { session_id, seconds: 50 })

type Item = { item_id: string; kind: string }
const openOf = (data: Record<string, unknown>): Item[] => (data['open'] ?? []) as Item[]

test.each(REVISIONS)('%s: a session is started, awaited, read, continued and found', async revision => {
  const mcp = await openClient(await start(), revision)
  const { tools } = await mcp.client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    'start_session',
    'send_message',
    'wait',
    'read_session',
    'search',
    'list_sessions',
    'answer',
    'decide',
    'stop',
  ])
  const session_id = await begin(mcp, 'plan it')
  const done = await rest(mcp, session_id)
  expect([done.data['state'], done.text]).toEqual([
    'completed',
    expect.stringContaining('Planned, in words.'),
  ])
  const { data } = await mcp.call('read_session', { session_id })
  const kinds = (data['entries'] as { kind: string }[]).map(({ kind }) => kind)
  expect(kinds).toEqual(['user', 'agent', 'call', 'result', 'agent', 'end'])
  await mcp.call('send_message', { session_id, message: 'hello' })
  expect((await rest(mcp, session_id)).text).toBe('Hello there.')
  const pages: unknown[] = []
  for (let after: unknown = 0; after !== null;) {
    const page: Record<string, unknown> = (await mcp.call('read_session', { session_id, after, limit: 2 }))
      .data
    pages.push(...(page['entries'] as unknown[]))
    after = page['next']
  }
  expect(pages).toEqual((await mcp.call('read_session', { session_id, limit: 100 })).data['entries'])
  await vi.waitFor(
    async () => {
      const found = await mcp.call('search', { q: 'plan it' })
      expect(found.data['entries']).toMatchObject([{ session_id }])
    },
    { timeout: PATIENCE_MS },
  )
  expect((await mcp.call('list_sessions')).data['entries']).toMatchObject([{ session_id }])
})

test.each(REVISIONS)(
  '%s: an approval is decided, a rejection too, and a question answered',
  async revision => {
    const mcp = await openClient(await start(), revision)
    const run = async (message: string, name: string, args: (item: Item) => object): Promise<string> => {
      const session_id = await begin(mcp, message)
      const asked = await rest(mcp, session_id)
      expect(asked.data['state']).toBe('waiting')
      const [item, ...others] = openOf(asked.data)
      expect(others).toEqual([])
      if (item === undefined) throw new Error('nothing is open')
      const args1 = { item_id: item.item_id, ...args(item) }
      expect((await mcp.call(name, args1)).isError).toBe(undefined)
      const { text, data } = await rest(mcp, session_id)
      expect(data['state']).toBe('completed')
      // The same answer again is accepted.
      expect((await mcp.call(name, args1)).isError).toBe(undefined)
      return text
    }
    expect(await run('run it', 'decide', () => ({ approve: true }))).toContain('It said')
    expect(await run('run it', 'decide', () => ({ approve: false, reason: 'no' }))).toBe('Then I leave it.')
    const responses = [{ question: 'Which colour?', answer: 'red' }]
    expect(await run('paint it', 'answer', () => ({ responses }))).toBe('Red it is.')
    expect(await run('log in', 'answer', () => ({ note: 'done' }))).toBe('Thank you.')
  },
)

const agrees: Person = ({ message, ...asked }) => {
  const { properties = {} } = ('requestedSchema' in asked ? asked.requestedSchema : {}) as {
    properties?: Record<string, unknown>
  }
  if ('decision' in properties) return { action: 'accept', content: { decision: 'approve' } }
  if ('done' in properties) return { action: 'accept', content: { done: true } }
  expect(message).toContain('Which colour?')
  return { action: 'accept', content: { answer_1: 'red' } }
}

test.each(REVISIONS)('%s: a client that can ask its user is asked during wait', async revision => {
  const asked: string[] = []
  const place = await start()
  const mcp = await openClient(place, revision, params => {
    asked.push(params.message)
    return agrees(params)
  })
  const answer = async (message: string): Promise<string> => (await rest(mcp, await begin(mcp, message))).text
  expect(await answer('run it')).toContain('It said')
  expect(asked).toEqual([expect.stringContaining('echo hi')])
  expect(await answer('paint it')).toBe('Red it is.')
  expect(await answer('log in')).toBe('Thank you.')
  const declining = await openClient(place, revision, () => ({ action: 'decline' }))
  expect((await rest(declining, await begin(declining, 'run it'))).text).toBe('Then I leave it.')
  const leaving = await openClient(place, revision, () => ({ action: 'cancel' }))
  const left = await rest(leaving, await begin(leaving, 'paint it'))
  expect([left.data['state'], openOf(left.data).length]).toEqual(['waiting', 1])
})

test.each(REVISIONS)(
  '%s: a turn is stopped, a failure is reported, and mistakes are explained',
  async revision => {
    const mcp = await openClient(await start(), revision)
    const session_id = await begin(mcp, 'hang')
    expect((await mcp.call('wait', { session_id, seconds: 0 })).data['state']).toBe('running')
    expect((await mcp.call('stop', { session_id })).data['stopped']).toBe(true)
    expect((await rest(mcp, session_id)).data['state']).toBe('stopped')
    expect(await rest(mcp, await begin(mcp, 'break'))).toMatchObject({
      isError: true,
      text: expect.stringContaining('the model is broken'),
    })
    const mistakes = [
      await mcp.call('wait', { session_id: 'x' }),
      await mcp.call('wait', {}),
      await mcp.call('start_session', { message: 'x', agent: 'nobody' }),
      await mcp.call('start_session', { message: '/stop' }),
      await mcp.call('decide', { item_id: 'x', approve: true }),
    ]
    expect(mistakes.map(({ isError }) => isError)).toEqual([true, true, true, true, true])
    await expect(mcp.client.callTool({ name: 'nothing', arguments: {} })).rejects.toMatchObject({
      code: -32602,
    })
  },
)

/** Promise 4.24: A session is a task of MCP, which its own client polls, answers and cancels. */
test('a task runs to its result, asks through tasks/update, fails and is cancelled', async () => {
  const place = await start()
  const { run, session } = await openTasks(place, agrees)
  const plan = await run('start_session', { message: 'plan it' })
  expect(plan.taskId).toMatch(/^task_[\da-f-]{36}_1$/)
  expect(plan.result()).toMatchObject({ structuredContent: { state: 'completed' } })
  expect((await run('start_session', { message: 'run it' })).result()).toMatchObject({
    content: [{ text: expect.stringContaining('It said') }],
  })
  expect((await run('start_session', { message: 'paint it' })).result()).toMatchObject({
    content: [{ text: 'Red it is.' }],
  })
  expect((await run('start_session', { message: 'break' })).result()).toMatchObject({ isError: true })
  const hanging = await session.callTool('start_session', { message: 'hang' })
  await hanging.cancel()
  const send = rawRequests(place)
  await vi.waitFor(
    async () => {
      const answer = (await (await send('tasks/get', { taskId: hanging.handle?.taskId })).json()) as never
      expect(answer).toMatchObject({ result: { status: 'cancelled' } })
    },
    { timeout: PATIENCE_MS },
  )
  const refuser = await openTasks(place, () => ({ action: 'decline' }))
  expect((await refuser.run('start_session', { message: 'run it' })).result()).toMatchObject({
    content: [{ text: 'Then I leave it.' }],
  })
})

test('subscriptions/listen reports the states of a task until it is over', async () => {
  const place = await start()
  const send = rawRequests(place)
  const startReply = await send('tools/call', { name: 'start_session', arguments: { message: 'run it' } })
  const { result } = (await startReply.json()) as { result: { taskId: string } }
  const { taskId } = result
  const frames: { method?: string; result?: unknown; params: { status?: string; notifications?: object } }[] =
    []
  const listening = (async () => {
    const stream = await send('subscriptions/listen', { notifications: { taskIds: [taskId, 'task_x'] } })
    for (const line of (await stream.text()).split('\n'))
      if (line.startsWith('data: ')) frames.push(JSON.parse(line.slice(6)) as never)
  })()
  const isAsking = async (): Promise<Record<string, object>> => {
    const task = (await (await send('tasks/get', { taskId })).json()) as {
      result: { inputRequests?: Record<string, object> }
    }
    expect(task.result.inputRequests).toBeDefined()
    return task.result.inputRequests ?? {}
  }
  const asked = await vi.waitFor(isAsking, { timeout: PATIENCE_MS })
  const [key = ''] = Object.keys(asked)
  const inputResponses = { [key]: { action: 'accept', content: { decision: 'approve' } } }
  const updated = (await (await send('tasks/update', { taskId, inputResponses })).json()) as object
  expect(updated).toMatchObject({ result: { resultType: 'complete' } })
  await listening
  expect(frames[0]?.params.notifications).toEqual({ taskIds: [taskId] })
  const states = frames.flatMap(({ params }) => params?.status ?? [])
  expect([states.includes('input_required'), states.at(-1)]).toEqual([true, 'completed'])
  expect(frames.at(-1)?.result).toMatchObject({ resultType: 'complete' })
})

test.each(REVISIONS)('%s: cairn mcp serve passes everything on', async (revision: Revision) => {
  const { url, env, token } = await start()
  const mcp = await openClient(overStdio({ ...env, CAIRN_URL: url, CAIRN_TOKEN: token }), revision, agrees)
  expect((await rest(mcp, await begin(mcp, 'run it'))).text).toContain('It said')
})
