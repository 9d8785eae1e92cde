/** AG-UI's own client, unchanged, against the service. */
import { randomUUID } from 'node:crypto'
import { type BaseEvent, HttpAgent, type Interrupt, type Message, type ResumeEntry } from '@ag-ui/client'
import { expect, test, vi } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { makePlace, type RunningService, startService } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

type Stage = { server: RunningService; token: string }
async function start(): Promise<Stage> {
  const place = makePlace({ scenario: SCENARIO, config: CONFIG })
  const server = await startService(place)
  return { server, token: await localToken(place.dataDir) }
}

const openAgent = ({ server, token }: Stage, threadId: string, initialMessages: Message[] = []): HttpAgent =>
  new HttpAgent({
    url: `${server.url}/compat/ag-ui/assistant`,
    headers: { authorization: `Bearer ${token}` },
    threadId,
    initialMessages,
  })

/** Runs the agent and returns the events of the run; the client's verifier has accepted them. */
async function run(
  agent: HttpAgent,
  { say, resume, runId }: { say?: string; resume?: ResumeEntry[]; runId?: string } = {},
): Promise<BaseEvent[]> {
  if (say !== undefined) agent.addMessage({ id: randomUUID(), role: 'user', content: say })
  const events: BaseEvent[] = []
  await agent.runAgent(
    { ...(resume === undefined ? {} : { resume }), ...(runId === undefined ? {} : { runId }) },
    { onEvent: ({ event }) => void events.push(event) },
  )
  return events
}

async function stored({ server, token }: Stage, threadId: string) {
  const response = await fetch(`${server.url}/compat/ag-ui/assistant/threads/${threadId}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(response.status).toBe(200)
  return (await response.json()) as { messages: Message[]; state: Record<string, unknown> }
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const typesOf = (events: readonly BaseEvent[]): string[] => [
  ...new Set(events.map(({ type }) => String(type))),
]
const textOf = ({ messages }: { messages: Message[] }): string =>
  messages
    .filter(({ role, content }) => role === 'assistant' && content)
    .map(({ content }) => String(content))
    .join('|')
const first = ({ pendingInterrupts: [interrupt] }: HttpAgent): Interrupt => {
  if (interrupt === undefined) throw new Error('the run ended without an interrupt')
  return interrupt
}

test('a run with a tool ends with the messages and the state that the service stores', async () => {
  const stage = await start()
  const agent = openAgent(stage, randomUUID())
  const events = await run(agent, { say: 'plan it' })
  expect(typesOf(events)).toEqual(
    expect.arrayContaining([
      'RUN_STARTED',
      'STEP_STARTED',
      'REASONING_MESSAGE_CONTENT',
      'TEXT_MESSAGE_CONTENT',
      'TOOL_CALL_START',
      'TOOL_CALL_RESULT',
      'STATE_DELTA',
      'RUN_FINISHED',
    ]),
  )
  expect(textOf(agent)).toMatch(/^I plan\.\|Planned, in words\./)
  const { messages, state } = await stored(stage, agent.threadId)
  expect(plain(agent.messages)).toEqual(messages)
  expect(state).toMatchObject({ plan: [{ content: 'one' }] })
  expect(agent.state).toMatchObject({ plan: state['plan'] })
  await run(agent, { say: 'hello' })
  expect(textOf(agent)).toContain('Hello there.')
  expect(plain(agent.messages)).toEqual((await stored(stage, agent.threadId)).messages)
})

test('an approval interrupts the run, and the next run has the result of the call', async () => {
  const stage = await start()
  const agent = openAgent(stage, randomUUID())
  await run(agent, { say: 'run it' })
  const interrupt = first(agent)
  expect(interrupt).toMatchObject({ reason: 'tool_call', metadata: { tool: 'terminal' } })
  expect(textOf(agent)).toBe('Running it.|I asked for approval.')
  const approved = { interruptId: interrupt.id, status: 'resolved' as const, payload: { approved: true } }
  await run(agent, { resume: [approved] })
  expect([agent.pendingInterrupts, textOf(agent)]).toEqual([[], expect.stringContaining('It said')])
  const result = agent.messages.find(({ role }) => role === 'tool')
  expect(result).toMatchObject({ toolCallId: interrupt.toolCallId })
  expect(plain(agent.messages)).toEqual((await stored(stage, agent.threadId)).messages)

  const other = openAgent(stage, randomUUID())
  await run(other, { say: 'run it' })
  await run(other, { resume: [{ interruptId: first(other).id, status: 'cancelled' }] })
  expect(textOf(other)).toContain('Then I leave it.')
  expect(plain(other.messages)).toEqual((await stored(stage, other.threadId)).messages)
})

test('an interrupt that two clients answer is decided once, and both see its result', async () => {
  const stage = await start()
  const agent = openAgent(stage, randomUUID())
  await run(agent, { say: 'run it' })
  const resume = [{ interruptId: first(agent).id, status: 'resolved' as const, payload: { approved: true } }]
  const other = openAgent(stage, agent.threadId, agent.messages)
  await Promise.all([run(agent, { resume }), run(other, { resume })])
  expect(plain(agent.messages)).toEqual(plain(other.messages))
  expect(textOf(agent)).toContain('It said')
  const late = openAgent(stage, agent.threadId, agent.messages)
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  await expect(
    run(late, { resume: [{ interruptId: resume[0]?.interruptId ?? '', status: 'cancelled' }] }),
  ).rejects.toThrow(/409/)
})

test('a question and an action interrupt the run until they are answered', async () => {
  const stage = await start()
  const agent = openAgent(stage, randomUUID())
  await run(agent, { say: 'paint it' })
  expect(first(agent)).toMatchObject({ reason: 'input_required', message: 'Which colour?' })
  const responses = [{ question: 'Which colour?', answer: 'red' }]
  await run(agent, { resume: [{ interruptId: first(agent).id, status: 'resolved', payload: { responses } }] })
  expect(textOf(agent)).toContain('Red it is.')
  await run(agent, { say: 'log in' })
  expect(first(agent)).toMatchObject({ reason: 'action_required' })
  await run(agent, {
    resume: [{ interruptId: first(agent).id, status: 'resolved', payload: { note: 'ok' } }],
  })
  expect(textOf(agent)).toContain('Thank you.')
  expect(plain(agent.messages)).toEqual((await stored(stage, agent.threadId)).messages)
  await run(agent, { say: 'paint it' })
  await run(agent, { say: 'never mind', resume: [{ interruptId: first(agent).id, status: 'cancelled' }] })
  expect(textOf(agent)).toMatch(/Hello there\.$/)
})

test('a reload in the middle of a text reads it from the start, and a stop ends all its runs', async () => {
  const stage = await start()
  const agent = openAgent(stage, randomUUID())
  const running = run(agent, { say: 'hang', runId: 'r1' })
  await vi.waitFor(() => expect(textOf(agent)).toBe('Half of '), { timeout: PATIENCE_MS })
  // The page holds the beginning of the text, and runs again with the same id.
  const page = openAgent(stage, agent.threadId, plain(agent.messages) as Message[])
  const again = run(page, { runId: 'r1' })
  await vi.waitFor(() => expect(page.isRunning).toBe(true))
  const stopped = await fetch(`${stage.server.url}/compat/ag-ui/assistant/threads/${agent.threadId}/run`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${stage.token}` },
  })
  expect(await stopped.json()).toEqual({ stopped: true })
  const [events] = await Promise.all([running, again])
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
  expect(textOf(page)).toBe('Half of ')
  expect(plain(page.messages)).toEqual(plain(agent.messages))
  expect(plain(page.messages)).toEqual((await stored(stage, agent.threadId)).messages)
})

test('a failed session is a run error, and a message is sent once however often it is repeated', async () => {
  const stage = await start()
  const agent = openAgent(stage, randomUUID())
  const events = await run(agent, { say: 'break' })
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', message: expect.stringContaining('broken') })
  const other = openAgent(stage, randomUUID())
  await run(other, { say: 'hello', runId: 'r' })
  await run(other, { runId: 'r' })
  const { sessions } = await stage.server.client.call('listSessions', { query: {} })
  const logs = await Promise.all(sessions.map(({ id }) => readLog(stage.server.client, id)))
  const said = logs.flat().filter(({ type }) => type === 'user.message')
  expect(said).toHaveLength(2)
})
