/** Anthropic's own client, unchanged, against the service. */
import Anthropic from '@anthropic-ai/sdk'
import { expect, test, vi } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { ASK, CONFIG, SCENARIO } from './compat-scenario.ts'
import { makePlace, type RunningService, startService } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

type Sessions = Anthropic['beta']['sessions']
type Event = Anthropic.Beta.Sessions.BetaManagedAgentsStreamSessionEvents
type Stage = { server: RunningService; sessions: Sessions }

async function start(more: { fetch?: typeof fetch } = {}): Promise<Stage & { client: Anthropic }> {
  const place = makePlace({ scenario: SCENARIO, config: CONFIG })
  const server = await startService(place)
  const authToken = await localToken(place.dataDir)
  const client = new Anthropic({
    authToken,
    apiKey: null,
    baseURL: `${server.url}/compat/anthropic`,
    ...more,
  })
  return { server, client, sessions: client.beta.sessions }
}

const newSession = async ({ sessions }: Pick<Stage, 'sessions'>): Promise<string> =>
  (await sessions.create({ agent: 'agent_assistant', environment_id: 'env_default' })).id

const text = (content: string) => ({
  type: 'user.message' as const,
  content: [{ type: 'text' as const, text: content }],
})

/** Opens the stream, runs the action, and reads until the session is idle. */
async function turn(
  { sessions }: Pick<Stage, 'sessions'>,
  id: string,
  events: Anthropic.Beta.Sessions.EventSendParams['events'],
  deltas: { event_deltas?: ('agent.message' | 'agent.thinking')[] } = {},
): Promise<Event[]> {
  const stream = await sessions.events.stream(id, deltas)
  await sessions.events.send(id, { events })
  const seen: Event[] = []
  for await (const event of stream) {
    // A title is made while the turn runs, so its place varies.
    if (event.type !== 'session.updated') seen.push(event)
    if (event.type === 'session.status_idle') break
  }
  return seen
}

const typesOf = (events: readonly { type: string }[]): string[] => events.map(({ type }) => type)
/** Without model calls that failed and were repeated, as happens on a busy machine. */
function withoutRetries(events: readonly Event[]): Event[] {
  const failed = new Set(
    events.flatMap(event =>
      event.type === 'span.model_request_end' && event.is_error === true
        ? [event.id, event.model_request_start_id]
        : [],
    ),
  )
  return events.filter(event => !('id' in event && failed.has(event.id)))
}
const find = <T extends Event['type']>(events: readonly Event[], type: T) =>
  events.find((event): event is Extract<Event, { type: T }> => event.type === type)
const waitingFor = (events: readonly Event[]): string[] => {
  const reason = find(events, 'session.status_idle')?.stop_reason
  return reason?.type === 'requires_action' ? reason.event_ids : []
}
const textOf = (events: readonly Event[]): string =>
  events
    .flatMap(event => (event.type === 'agent.message' ? event.content : []))
    .map(block => (block.type === 'text' ? block.text : ''))
    .join('|')

async function listAll({ sessions }: Pick<Stage, 'sessions'>, id: string): Promise<Event[]> {
  const events: Event[] = []
  for await (const event of sessions.events.list(id, { limit: 3 })) events.push(event)
  return events
}

test('a turn with a tool is streamed as events, and the list has the same', async () => {
  const stage = await start()
  const id = await newSession(stage)
  const seen = await turn(stage, id, [text('plan it')])
  expect(typesOf(withoutRetries(seen))).toEqual([
    'user.message',
    'session.status_running',
    'span.model_request_start',
    'agent.thinking',
    'agent.message',
    'span.model_request_end',
    'agent.tool_use',
    'agent.tool_result',
    'span.model_request_start',
    'agent.thinking',
    'agent.message',
    'span.model_request_end',
    'session.status_idle',
  ])
  expect(textOf(seen)).toMatch(/^I plan\.\|Planned, in words\./)
  const use = find(seen, 'agent.tool_use')
  expect(use).toMatchObject({ name: 'todo', evaluated_permission: 'allow' })
  expect(find(seen, 'agent.tool_result')?.tool_use_id).toBe(use?.id)
  const listed = (await listAll(stage, id)).filter(({ type }) => type !== 'session.updated')
  expect(listed).toEqual(seen)
  const session = await stage.sessions.retrieve(id)
  expect([session.status, session.agent.id]).toEqual(['idle', 'agent_assistant'])
})

test('previews of a message end with the message of the same id', async () => {
  const stage = await start()
  const id = await newSession(stage)
  const seen = await turn(stage, id, [text('plan it')], { event_deltas: ['agent.message', 'agent.thinking'] })
  const texts = new Map<string, string>()
  for (const event of seen) {
    if (event.type === 'event_start') texts.set(event.event.id, '')
    if (event.type === 'event_delta')
      texts.set(event.event_id, (texts.get(event.event_id) ?? '') + event.delta.content.text)
  }
  const messages = seen.filter(event => event.type === 'agent.message')
  expect(messages).toHaveLength(2)
  for (const message of messages)
    expect(message.content).toEqual([{ type: 'text', text: texts.get(message.id) }])
  for (const { id: thinking } of seen.filter(event => event.type === 'agent.thinking'))
    expect(texts.has(thinking)).toBe(true)
})

test('a call waits for its confirmation, which runs it or leaves it', async () => {
  const stage = await start()
  const id = await newSession(stage)
  const asked = await turn(stage, id, [text('run it')])
  const use = find(asked, 'agent.tool_use')
  expect(use).toMatchObject({ name: 'terminal', input: { command: 'echo hi' }, evaluated_permission: 'ask' })
  expect(waitingFor(asked)).toEqual([use?.id])
  expect(find(asked, 'agent.tool_result')).toBeUndefined()
  const confirm = (tool_use_id: string, result: 'allow' | 'deny') =>
    ({ type: 'user.tool_confirmation', tool_use_id, result }) as const
  const allowed = await turn(stage, id, [confirm(use?.id ?? '', 'allow')])
  expect(typesOf(allowed).slice(0, 2)).toEqual(['user.tool_confirmation', 'session.status_running'])
  expect(find(allowed, 'agent.tool_result')).toMatchObject({ tool_use_id: use?.id, is_error: false })
  expect(find(allowed, 'agent.tool_use')).toBeUndefined()
  expect(textOf(allowed)).toContain('It said')

  const other = await newSession(stage)
  const [again] = waitingFor(await turn(stage, other, [text('run it')]))
  const denied = await turn(stage, other, [
    { ...confirm(again ?? '', 'deny'), deny_message: 'not on this machine' },
  ])
  expect(find(denied, 'user.tool_confirmation')).toMatchObject({ result: 'deny', tool_use_id: again })
  expect([textOf(denied), find(denied, 'agent.tool_result')]).toEqual(['Then I leave it.', undefined])
})

test('a question and an action are custom tools, which their results answer', async () => {
  const stage = await start()
  const id = await newSession(stage)
  const asked = await turn(stage, id, [text('paint it')])
  const use = find(asked, 'agent.custom_tool_use')
  expect(use).toMatchObject({ name: 'ask_user_question', input: ASK })
  expect(waitingFor(asked)).toEqual([use?.id])
  const result = (custom_tool_use_id: string, answer: string) => ({
    type: 'user.custom_tool_result' as const,
    custom_tool_use_id,
    content: [{ type: 'text' as const, text: answer }],
  })
  expect(textOf(await turn(stage, id, [result(use?.id ?? '', 'red')]))).toBe('Red it is.')
  const action = find(await turn(stage, id, [text('log in')]), 'agent.custom_tool_use')
  expect(action?.name).toBe('request_user_action')
  expect(textOf(await turn(stage, id, [result(action?.id ?? '', 'done')]))).toBe('Thank you.')
})

test('an interrupt ends the turn, and a failed session says why', async () => {
  const stage = await start()
  const id = await newSession(stage)
  const stream = await stage.sessions.events.stream(id, { event_deltas: ['agent.message'] })
  await stage.sessions.events.send(id, { events: [text('hang')] })
  const seen: Event[] = []
  const reading = (async () => {
    for await (const event of stream) {
      seen.push(event)
      if (event.type === 'session.status_idle') break
    }
  })()
  await vi.waitFor(() => expect(typesOf(seen)).toContain('event_delta'), { timeout: PATIENCE_MS })
  const { data = [] } = await stage.sessions.events.send(id, { events: [{ type: 'user.interrupt' }] })
  await reading
  expect(seen.find(event => event.type === 'user.interrupt')?.id).toBe(data[0]?.id)
  expect(typesOf(seen).slice(-3)).toEqual(['span.model_request_end', 'user.interrupt', 'session.status_idle'])
  expect(find(seen, 'session.status_idle')?.stop_reason).toEqual({ type: 'end_turn' })

  const failed = await turn(stage, await newSession(stage), [text('break')])
  expect(find(failed, 'session.error')?.error.message).toContain('broken')
  expect(find(failed, 'session.status_idle')?.stop_reason.type).toBe('retries_exhausted')
})

/** The client repeats a request whose answer was lost, and names no Idempotency-Key. */
test('events whose answer was lost are repeated by the client and sent once', async () => {
  let lost = 0
  const stage = await start({
    fetch: async (input, init) => {
      const response = await fetch(input, init)
      if (!String(input).includes('/events') || init?.method !== 'POST' || lost++ > 0) return response
      await response.body?.cancel()
      throw new TypeError('fetch failed')
    },
  })
  const id = await newSession(stage)
  await turn(stage, id, [text('hello')])
  expect(lost).toBe(2)
  const log = await readLog(stage.server.client, id.slice('sesn_'.length))
  expect(log.filter(({ type }) => type === 'user.message')).toHaveLength(1)
})

test('a session begins with a message, is renamed, listed and archived; an outcome is a goal', async () => {
  const stage = await start()
  const { sessions, client } = stage
  const draftSession = await sessions.create({
    agent: { type: 'agent', id: 'agent_assistant' },
    environment_id: 'env_default',
    title: 'First',
    initial_events: [text('hello')],
  })
  await vi.waitFor(async () => expect(textOf(await listAll(stage, draftSession.id))).toBe('Hello there.'), {
    timeout: PATIENCE_MS,
  })
  expect((await sessions.update(draftSession.id, { title: 'Second' })).title).toBe('Second')
  const listed = await sessions.list({ agent_id: 'agent_assistant', statuses: ['idle'] })
  expect(listed.data.map(({ id, title }) => [id, title])).toEqual([[draftSession.id, 'Second']])
  expect((await client.beta.agents.list()).data.map(({ id }) => id)).toEqual(['agent_assistant'])
  expect((await client.beta.environments.list()).data.map(({ id }) => id)).toEqual(['env_default'])
  expect((await sessions.archive(draftSession.id)).status).toBe('terminated')
  expect((await sessions.list()).data).toEqual([])

  const id = await newSession(stage)
  const { data = [] } = await sessions.events.send(id, {
    events: [
      {
        type: 'user.define_outcome',
        description: 'Say hello',
        rubric: { type: 'text', content: 'It says hello.' },
      },
    ],
  })
  expect(data[0]).toMatchObject({ type: 'user.define_outcome', description: 'Say hello' })
  await vi.waitFor(
    async () => {
      const types = typesOf(await listAll(stage, id))
      expect(types).toContain('user.define_outcome')
      expect(types).toContain('span.outcome_evaluation_end')
    },
    { timeout: PATIENCE_MS },
  )
})
