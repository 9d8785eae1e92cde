/**
 * kill -9 of the server between a request of an MCP client and its answer, after each of the first events:
 * polling the task continues with the next process, and the session has one message and one result a call.
 * MCP_KILLS extends a run.
 */
import { expect, test, vi } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { rawRequests } from './mcp-client.ts'
import { makePlace, startServer } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

const KILLS = Number(process.env['MCP_KILLS'] ?? 2)

/** Each turn of the scenario has more. */
const EVENTS = 6

type Task = { status: string; inputRequests?: Record<string, object>; result?: { structuredContent: object } }

test(
  `${KILLS} kills lose and repeat nothing of a task`,
  { timeout: PATIENCE_MS + KILLS * 60_000 },
  async () => {
    const place = makePlace({ scenario: SCENARIO, config: { ...CONFIG, limits: { lease_s: 2 } } })
    let server = await startServer(place)
    const token = await localToken(place.dataDir)
    const send = async (method: string, params: object): Promise<unknown> => {
      const response = await rawRequests({ url: server.url, token })(method, { ...params })
      return ((await response.json()) as { result: unknown }).result
    }
    for (let kill = 0; kill < KILLS; kill++) {
      const message = kill % 2 === 0 ? 'plan it' : 'run it'
      const started = (await send('tools/call', { name: 'start_session', arguments: { message } })) as {
        taskId: string
      }
      const { taskId } = started
      const get = async (): Promise<Task> => (await send('tasks/get', { taskId })) as Task
      const session = taskId.split('_')[1] ?? ''
      await vi.waitFor(
        async () => expect((await readLog(server.client, session)).length).toBeGreaterThan(kill % EVENTS),
        { timeout: PATIENCE_MS },
      )
      // The kill cuts this request, whether or not it was answered.
      const reading = Promise.allSettled([get()])
      await server.kill()
      await reading
      server = await startServer(place)
      const isAt = async (status: string): Promise<Task> => {
        const task = await get()
        expect(task.status).toBe(status)
        return task
      }
      if (message === 'run it') {
        const { inputRequests = {} } = await vi.waitFor(() => isAt('input_required'), {
          timeout: PATIENCE_MS,
        })
        const [key = ''] = Object.keys(inputRequests)
        const inputResponses = { [key]: { action: 'accept', content: { decision: 'approve' } } }
        await send('tasks/update', { taskId, inputResponses })
        // The answer to the update may be lost, and the client sends it again.
        await server.kill()
        server = await startServer(place)
        await send('tasks/update', { taskId, inputResponses })
      }
      const { result } = await vi.waitFor(() => isAt('completed'), { timeout: PATIENCE_MS })
      expect(result?.structuredContent).toMatchObject({ state: 'completed' })
      const log = await readLog(server.client, session)
      const said = log.filter(({ type, data }) => type === 'user.message' && !('synthetic' in data))
      expect(said).toHaveLength(1)
      const results = log.filter(({ type }) => type === 'tool.result')
      const calls = log.filter(({ type }) => type === 'tool.call')
      expect(new Set(results.map(({ data }) => (data as { tool_call_id: string }).tool_call_id)).size).toBe(
        calls.length,
      )
    }
  },
)
