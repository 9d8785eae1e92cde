/** The Agent2Agent project's own client, unchanged, against the service. */
import { randomUUID } from 'node:crypto'
import { type Message, type Part, Role, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'
import { type Client, ClientFactory, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import { expect, test, vi } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { makePlace, type RunningService, startService } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

type Stage = { server: RunningService; client: Client }
async function start(): Promise<Stage> {
  const place = makePlace({
    scenario: SCENARIO,
    config: { ...CONFIG, compat: { a2a: { agents: ['assistant'] } } },
  })
  const server = await startService(place)
  const authorization = `Bearer ${await localToken(place.dataDir)}`
  const fetchImpl: typeof fetch = (input, init) =>
    fetch(input, { ...init, headers: { ...(init?.headers as Record<string, string>), authorization } })
  const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl })] })
  return { server, client: await factory.createFromUrl(server.url) }
}

const text = (value: string): Part => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: '',
})
const data = (value: unknown): Part => ({
  content: { $case: 'data', value },
  metadata: undefined,
  filename: '',
  mediaType: 'application/json',
})

const message = (parts: Part[], place: { contextId?: string; taskId?: string } = {}): Message => ({
  messageId: randomUUID(),
  contextId: '',
  taskId: '',
  ...place,
  role: Role.ROLE_USER,
  parts,
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
})

const request = (sent: Message, returnImmediately = false) => ({
  tenant: '',
  message: sent,
  configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
  metadata: undefined,
})

async function send({ client }: Stage, sent: Message, returnImmediately = false): Promise<Task> {
  const result = await client.sendMessage(request(sent, returnImmediately))
  if (!('status' in result)) throw new Error('the answer is not a task')
  return result
}

const partText = ({ content }: Part): string => (content?.$case === 'text' ? content.value : '')
const answerOf = ({ artifacts }: Pick<Task, 'artifacts'>): string =>
  artifacts.map(({ parts }) => parts.map(partText).join('')).join('|')
const get = ({ client }: Stage, id: string): Promise<Task> => client.getTask({ tenant: '', id })

/** A task as a client keeps it: the first frame, then its updates. */
function applyFrames(frames: readonly StreamResponse[]): Task {
  let task: Task | undefined
  for (const { payload } of frames) {
    if (payload?.$case === 'task') task = structuredClone(payload.value)
    if (task === undefined) throw new Error('the stream does not begin with its task')
    if (payload?.$case === 'statusUpdate') task.status = payload.value.status
    if (payload?.$case !== 'artifactUpdate' || payload.value.artifact === undefined) continue
    const { artifact, append } = payload.value
    const known = task.artifacts.find(({ artifactId }) => artifactId === artifact.artifactId)
    if (known === undefined) task.artifacts.push(structuredClone(artifact))
    else if (!append) known.parts = artifact.parts
    else known.parts = [text([...known.parts, ...artifact.parts].map(partText).join(''))]
  }
  if (task === undefined) throw new Error('the stream is empty')
  return task
}

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
  const waiting = asked.status?.message?.parts.find(({ content }) => content?.$case === 'data')?.content
  expect(waiting?.value).toMatchObject({ approvals: [{ tool: 'terminal', input: { command: 'echo hi' } }] })
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
