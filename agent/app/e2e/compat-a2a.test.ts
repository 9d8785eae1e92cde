/** The Agent2Agent project's own client, unchanged, against the service. */
import { type Message, Role, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { expect, test, vi } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import {
  A2A_CONFIG,
  answerOf,
  applyFrames,
  data,
  dataOf,
  message,
  openA2a,
  partText,
  request,
  text,
} from './a2a-client.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { makePlace, type RunningService, startService } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

type Stage = { server: RunningService; client: Client }
async function start(): Promise<Stage> {
  const place = makePlace({ scenario: SCENARIO, config: { ...CONFIG, ...A2A_CONFIG } })
  const server = await startService(place)
  return { server, client: await openA2a(server.url, await localToken(place.dataDir)) }
}

async function send({ client }: Stage, sent: Message, returnImmediately = false): Promise<Task> {
  const result = await client.sendMessage(request(sent, returnImmediately))
  if (!('status' in result)) throw new Error('the answer is not a task')
  return result
}

const get = ({ client }: Stage, id: string): Promise<Task> => client.getTask({ tenant: '', id })

test('a message is a task, whose stream adds up to what the service stores', async () => {
  const stage = await start()
  const frames: StreamResponse[] = []
  for await (const frame of stage.client.sendMessageStream(request(message([text('plan it')]))))
    frames.push(frame)
  const task = applyFrames(frames)
  expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
  expect(answerOf(task)).toMatch(/^I plan\.\|Planned, in words\./)
  const stored = await get(stage, task.id)
  expect(answerOf(stored)).toBe(answerOf(task))
  expect(stored.status).toEqual(task.status)
  expect(stored.history.map(({ role, parts }) => [role, parts.map(partText)])).toEqual([
    [Role.ROLE_USER, ['plan it']],
  ])
  const next = await send(stage, message([text('hello')], { contextId: task.contextId }))
  expect([next.contextId, answerOf(next)]).toEqual([task.contextId, 'Hello there.'])
  const listed = await stage.client.listTasks({
    tenant: '',
    contextId: task.contextId,
    status: TaskState.TASK_STATE_UNSPECIFIED,
    pageSize: 1,
    pageToken: '',
    statusTimestampAfter: undefined,
  })
  expect([listed.tasks.map(({ id }) => id), listed.totalSize]).toEqual([[next.id], 2])
})

test('an approval makes the task wait, and a decision continues it', async () => {
  const stage = await start()
  const asked = await send(stage, message([text('run it')]))
  expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
  expect(dataOf(asked)).toMatchObject({ approvals: [{ tool: 'terminal', input: { command: 'echo hi' } }] })
  await expect(send(stage, message([text('yes, do it')], { taskId: asked.id }))).rejects.toThrow(/decision/)
  const done = await send(stage, message([data({ decision: 'approve' })], { taskId: asked.id }))
  expect([done.id, done.status?.state]).toEqual([asked.id, TaskState.TASK_STATE_COMPLETED])
  expect(answerOf(done)).toContain('It said')

  const other = await send(stage, message([text('run it')]))
  const left = await send(stage, message([data({ decision: 'reject', reason: 'no' })], { taskId: other.id }))
  expect(answerOf(left)).toContain('Then I leave it.')
  await expect(send(stage, message([text('more')], { taskId: other.id }))).rejects.toThrow(/over/)
})

test('a question and an action make the task wait for text', async () => {
  const stage = await start()
  const asked = await send(stage, message([text('paint it')]))
  expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
  expect(asked.status?.message?.parts.map(partText)[0]).toBe('Which colour?')
  const done = await send(stage, message([text('red')], { taskId: asked.id }))
  expect([done.status?.state, answerOf(done)]).toEqual([TaskState.TASK_STATE_COMPLETED, 'Red it is.'])
  const action = await send(stage, message([text('log in')]))
  expect(action.status?.state).toBe(TaskState.TASK_STATE_AUTH_REQUIRED)
  expect(answerOf(await send(stage, message([text('done')], { taskId: action.id })))).toBe('Thank you.')
})

test('a task in the background is subscribed to and cancelled', async () => {
  const stage = await start()
  const { id } = await send(stage, message([text('hang')]), true)
  const frames: StreamResponse[] = []
  const reading = (async () => {
    for await (const frame of stage.client.resubscribeTask({ tenant: '', id })) frames.push(frame)
  })()
  await vi.waitFor(() => expect(answerOf(applyFrames(frames))).toBe('Half of '), { timeout: PATIENCE_MS })
  const cancelled = await stage.client.cancelTask({ tenant: '', id, metadata: undefined })
  expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
  await reading
  expect(applyFrames(frames)).toMatchObject({ status: { state: TaskState.TASK_STATE_CANCELED } })
  await expect(stage.client.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toThrow(/runs/)
})

test('a failed session is a failed task, and a repeated message is sent once', async () => {
  const stage = await start()
  const failed = await send(stage, message([text('break')]))
  expect(failed.status?.state).toBe(TaskState.TASK_STATE_FAILED)
  expect(failed.status?.message?.parts.map(partText).join('')).toContain('broken')
  const sent = message([text('hello')])
  expect((await send(stage, sent)).id).toBe((await send(stage, sent)).id)
  const { sessions } = await stage.server.client.call('listSessions', { query: {} })
  const logs = await Promise.all(sessions.map(({ id }) => readLog(stage.server.client, id)))
  expect(logs.flat().filter(({ type }) => type === 'user.message')).toHaveLength(2)
})

/** Promise 4.24: A client whose answer was lost repeats its message; it is one message, one decision, one answer. */
test('a repeated decision or answer is taken once, while its turn runs and after it', async () => {
  const stage = await start()
  const repeated = async (say: string, answer: (id: string) => Message): Promise<string> => {
    const { id, contextId } = await send(stage, message([text(say)]))
    const sent = answer(id)
    expect((await send(stage, sent, true)).id).toBe(id)
    expect((await send(stage, sent)).id).toBe(id)
    const done = await send(stage, sent)
    expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    const log = await readLog(stage.server.client, contextId)
    expect(log.filter(({ type, data }) => type === 'user.message' && !('synthetic' in data))).toHaveLength(1)
    expect(done.history).toHaveLength(1)
    return answerOf(done)
  }
  const decision = (taskId: string): Message => message([data({ decision: 'approve' })], { taskId })
  expect(await repeated('run it', decision)).toContain('It said')
  expect(await repeated('paint it', taskId => message([text('red')], { taskId }))).toBe('Red it is.')
  expect(await repeated('log in', taskId => message([text('done')], { taskId }))).toBe('Thank you.')
})

test('an approval that is decided after the next task began ends its own task', async () => {
  const stage = await start()
  const asked = await send(stage, message([text('run it')]))
  const next = await send(stage, message([text('hello')], { contextId: asked.contextId }))
  expect(answerOf(next)).toBe('Hello there.')
  expect((await get(stage, asked.id)).status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
  const decided = await send(stage, message([data({ decision: 'approve' })], { taskId: asked.id }))
  expect([decided.id, decided.status?.state]).toEqual([asked.id, TaskState.TASK_STATE_COMPLETED])
  await vi.waitFor(async () => expect(answerOf(await get(stage, next.id))).toContain('It said'), {
    timeout: PATIENCE_MS,
  })
})
