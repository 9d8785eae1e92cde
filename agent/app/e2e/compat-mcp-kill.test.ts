/**
 * kill -9 of the server before and after each commit of a session's log, while an MCP client polls its task
 * and answers what it asks. The client repeats a request whose answer was lost; the session has one message,
 * one decision or answer, and one result a call, and the task has its result. CAIRN_TESTS=all runs every
 * commit.
 */
import { fileURLToPath } from 'node:url'
import { oneIn } from '@cairn/protocol/test/sample'
import { expect, test, vi } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { rawRequests } from './mcp-client.ts'
import { makePlace, type Server, type ServerDirs, startServer } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

const KILLER = fileURLToPath(new URL('./kill-at-commit.ts', import.meta.url))

type Flow = { message: string; ends: RegExp; content?: object; commits: number }
/** `content` answers what the task asks; `commits` is what a flow has at least, with those of its answer. */
const FLOWS: readonly Flow[] = [
  { message: 'plan it', ends: /Planned, in words\./, commits: 8 },
  { message: 'run it', ends: /It said/, content: { decision: 'approve' }, commits: 14 },
  { message: 'paint it', ends: /Red it is\./, content: { answer_1: 'red' }, commits: 10 },
]
const CASES = FLOWS.flatMap(flow =>
  Array.from({ length: flow.commits }, (_, at) => at + 1).flatMap(at =>
    (['before', 'after'] as const).map(when => ({ ...flow, when, at })),
  ),
)

type Task = {
  taskId: string
  status: string
  inputRequests?: Record<string, object>
  result?: { content: { text: string }[]; structuredContent: object }
}

/** A server, and the one that follows it when it was killed. */
async function startKilled(place: ServerDirs, killAt: string) {
  const env = { ...place.env, KILL_AT_COMMIT: killAt, NODE_OPTIONS: `--import=${KILLER}` }
  const state: { server: Server; kills: number } = {
    server: await startServer({ ...place, env }),
    kills: 0,
  }
  const token = await localToken(place.dataDir)
  /** Sends a request, and again if the server was killed before its answer arrived. */
  async function send<T>(method: string, params: object): Promise<T> {
    for (;;)
      try {
        const { url } = state.server
        const response = await rawRequests({ url, token })(method, { ...params })
        return ((await response.json()) as { result: T }).result
      } catch (error) {
        if (state.kills > 0) throw error
        await restart()
      }
  }
  async function restart(): Promise<void> {
    state.kills++
    await state.server.kill()
    state.server = await startServer(place)
  }
  return { state, send, restart }
}

/** Polls a task until it is neither working nor, with `answered`, still asking. */
const poll = (get: () => Promise<Task>, answered: boolean): Promise<Task> =>
  vi.waitFor(
    async () => {
      const task = await get()
      expect(['working', ...(answered ? ['input_required'] : [])]).not.toContain(task.status)
      return task
    },
    { timeout: PATIENCE_MS },
  )

async function expectOnce({ client }: Server, session: string): Promise<void> {
  const log = await readLog(client, session)
  const said = log.filter(({ type, data }) => type === 'user.message' && !('synthetic' in data))
  expect(said).toHaveLength(1)
  const decided = log.filter(
    ({ type, data }) =>
      type === 'ask_user_question.response' || (data as { synthetic?: string }).synthetic !== undefined,
  )
  expect(decided.length).toBeLessThanOrEqual(1)
  const ids = (type: string): string[] =>
    log
      .filter(event => event.type === type)
      .map(({ data }) => (data as { tool_call_id: string }).tool_call_id)
  expect(ids('tool.result').toSorted()).toEqual([...new Set(ids('tool.call'))].toSorted())
}

/** Promise 4.24: A task of MCP outlives every death of the server, and nothing of it is lost or repeated. */
test.each(oneIn(32, CASES))(
  '$message, killed $when commit $at',
  async ({ message, ends, content, when, at }) => {
    const place = makePlace({ scenario: SCENARIO, config: { ...CONFIG, limits: { lease_s: 2 } } })
    const { state, send } = await startKilled(place, `${when}:${at}`)
    const started = await send<Task>('tools/call', { name: 'start_session', arguments: { message } })
    const { taskId } = started
    const get = (): Promise<Task> => send('tasks/get', { taskId })
    let task = await poll(get, false)
    if (content !== undefined) {
      expect(task.status).toBe('input_required')
      const [key = ''] = Object.keys(task.inputRequests ?? {})
      await send('tasks/update', { taskId, inputResponses: { [key]: { action: 'accept', content } } })
      task = await poll(get, true)
    }
    expect(task.status).toBe('completed')
    expect(task.result?.structuredContent).toMatchObject({ state: 'completed' })
    expect(task.result?.content.map(({ text }) => text).join('\n')).toMatch(ends)
    // A title may be added later, and changes the time of the task.
    expect((await get()).result).toEqual(task.result)
    await expectOnce(state.server, taskId.split('_')[1] ?? '')
    // The flow has that many commits: its server did not survive.
    expect(state.kills).toBe(1)
  },
)

test.each(FLOWS.filter(({ content }) => content !== undefined))(
  '$message: what a parked task asks is the same after restarts, and its answer is taken once',
  async ({ message, ends, content }) => {
    const place = makePlace({ scenario: SCENARIO, config: { ...CONFIG, limits: { lease_s: 2 } } })
    const { state, send, restart } = await startKilled(place, 'never:0')
    const started = await send<Task>('tools/call', { name: 'start_session', arguments: { message } })
    const { taskId } = started
    const get = (): Promise<Task> => send('tasks/get', { taskId })
    const parked = await poll(get, false)
    expect(parked.status).toBe('input_required')
    await restart()
    expect((await get()).inputRequests).toEqual(parked.inputRequests)
    const [key = ''] = Object.keys(parked.inputRequests ?? {})
    const update = { taskId, inputResponses: { [key]: { action: 'accept', content } } }
    await send('tasks/update', update)
    await restart()
    await send('tasks/update', update)
    const { status, result } = await poll(get, true)
    expect([status, result?.content.map(({ text }) => text).join('\n')]).toEqual([
      'completed',
      expect.stringMatching(ends),
    ])
    await expectOnce(state.server, taskId.split('_')[1] ?? '')
  },
)
