/** The Vercel AI SDK's own client, unchanged, against the service. */
import { randomUUID } from 'node:crypto'
import { type ChatClient, openChat, plain } from '@cairn/compat/test/chat-client'
import { expect, test, vi } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { ASK, CONFIG, SCENARIO } from './compat-scenario.ts'
import { makePlace, type RunningService, type ServerDirs, startService } from './server.ts'
import { PATIENCE_MS } from './session.ts'

type Stage = { place: ServerDirs; server: RunningService; token: string }
async function start(): Promise<Stage> {
  const place = makePlace({ scenario: SCENARIO, config: CONFIG })
  const server = await startService(place)
  return { place, server, token: await localToken(place.dataDir) }
}

const until = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: PATIENCE_MS / 4, interval: 20 })
const isReady = ({ status }: ChatClient): void => expect(status).toBe('ready')

async function stored({ server, token }: Stage, id: string): Promise<unknown[]> {
  const response = await fetch(`${server.url}/compat/ai-sdk/chat/${id}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(response.status).toBe(200)
  return ((await response.json()) as { messages: unknown[] }).messages
}

test('a turn with a tool ends with the messages that the service stores', async () => {
  const stage = await start()
  const chat = openChat({ ...stage.server, ...stage, url: stage.server.url, id: randomUUID() })
  await chat.sendMessage({ text: 'plan it' })
  expect(chat.error).toBeUndefined()
  expect(plain(chat.messages)).toEqual(await stored(stage, chat.id))
})

type ToolPart = { type: string; state: string; approval?: { id: string }; output?: unknown; toolName: string }
const toolsOf = (chat: ChatClient): ToolPart[] =>
  chat.messages
    .flatMap(({ parts }) => parts)
    .filter(({ type }) => type === 'dynamic-tool') as unknown as ToolPart[]
const textOf = (chat: ChatClient): string =>
  chat.messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ parts }) => parts)
    .flatMap(part => (part.type === 'text' ? [part.text] : []))
    .join('|')

test('an approval waits in its tool part, which ends with the result or as denied', async () => {
  const stage = await start()
  const { url } = stage.server
  const chat = openChat({ url, token: stage.token, id: randomUUID() })
  await chat.sendMessage({ text: 'run it' })
  const [asked] = toolsOf(chat)
  expect(asked).toMatchObject({ toolName: 'terminal', state: 'approval-requested' })
  expect(textOf(chat)).toBe('Running it.|I asked for approval.')
  expect(plain(chat.messages)).toEqual(await stored(stage, chat.id))
  await chat.addToolApprovalResponse({ id: asked?.approval?.id ?? '', approved: true })
  await until(() => expect(textOf(chat)).toContain('It said'))
  await until(() => isReady(chat))
  expect(toolsOf(chat)).toMatchObject([{ state: 'output-available' }])
  expect(plain(chat.messages)).toEqual(await stored(stage, chat.id))

  const other = openChat({ url, token: stage.token, id: randomUUID() })
  await other.sendMessage({ text: 'run it' })
  await other.addToolApprovalResponse({
    id: toolsOf(other)[0]?.approval?.id ?? '',
    approved: false,
    reason: 'no',
  })
  await until(() => expect(textOf(other)).toContain('Then I leave it.'))
  await until(() => isReady(other))
  expect(toolsOf(other)).toMatchObject([{ state: 'output-denied' }])
  expect(plain(other.messages)).toEqual(await stored(stage, other.id))
})

test('a question is answered by the output of its tool, and a new message passes it over', async () => {
  const stage = await start()
  const { url } = stage.server
  const chat = openChat({ url, token: stage.token, id: randomUUID() })
  await chat.sendMessage({ text: 'paint it' })
  const [question] = toolsOf(chat) as (ToolPart & { toolCallId: string })[]
  expect(question).toMatchObject({ toolName: 'ask_user_question', state: 'input-available', input: ASK })
  const responses = [{ question: 'Which colour?', answer: 'red' }]
  await chat.addToolOutput({
    tool: 'ask_user_question',
    toolCallId: question?.toolCallId ?? '',
    output: { responses },
  })
  await until(() => expect(textOf(chat)).toBe('Red it is.'))
  await until(() => isReady(chat))
  expect(plain(chat.messages)).toEqual(await stored(stage, chat.id))

  const other = openChat({ url, token: stage.token, id: randomUUID() })
  await other.sendMessage({ text: 'paint it' })
  await other.sendMessage({ text: 'never mind' })
  expect(textOf(other)).toContain('Hello there.')
})

test('a reload in the middle of a text continues it, and a stop ends all its streams', async () => {
  const stage = await start()
  const { url } = stage.server
  const chat = openChat({ url, token: stage.token, id: randomUUID() })
  const sending = chat.sendMessage({ text: 'hang' })
  await until(() => expect(textOf(chat)).toBe('Half of '))
  // The page is loaded again: the stored messages without the open answer, then its stream from the start.
  const loaded = (await stored(stage, chat.id)) as ChatClient['messages']
  expect(loaded.map(({ role }) => role)).toEqual(['user'])
  const page = openChat({ url, token: stage.token, id: chat.id, messages: loaded })
  const resuming = page.resumeStream()
  await until(() => expect(textOf(page)).toBe('Half of '))
  const stopped = await fetch(`${url}/compat/ai-sdk/chat/${chat.id}/stream`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${stage.token}` },
  })
  expect(await stopped.json()).toEqual({ stopped: true })
  await Promise.all([sending, resuming])
  expect([chat.status, page.status]).toEqual(['ready', 'ready'])
  expect(plain(page.messages)).toEqual(plain(chat.messages))
  expect(plain(page.messages)).toEqual(await stored(stage, chat.id))
})

test('an approval of an earlier message is decided there, and what it starts is of the last message', async () => {
  const stage = await start()
  const { url } = stage.server
  const chat = openChat({ url, token: stage.token, id: randomUUID() })
  await chat.sendMessage({ text: 'run it' })
  await chat.sendMessage({ text: 'hello' })
  const [asked] = toolsOf(chat)
  await chat.addToolApprovalResponse({ id: asked?.approval?.id ?? '', approved: true })
  // The stock helpers look at the last message only, so the page sends by itself.
  await chat.sendMessage()
  expect(chat.error).toBeUndefined()
  expect(toolsOf(chat)).toMatchObject([{ state: 'approval-responded' }])
  await until(async () => {
    await chat.resumeStream()
    expect(textOf(chat)).toContain('It said')
  })
  expect(toolsOf(chat).map(({ state }) => state)).toEqual(['approval-responded', 'output-available'])
  expect(plain(chat.messages)).toEqual(await stored(stage, chat.id))
})

test('an action waits until its output says that it is done, and a failed session ends with its error', async () => {
  const stage = await start()
  const { url } = stage.server
  const chat = openChat({ url, token: stage.token, id: randomUUID() })
  await chat.sendMessage({ text: 'log in' })
  const [action] = toolsOf(chat) as (ToolPart & { toolCallId: string })[]
  expect(action).toMatchObject({ toolName: 'request_user_action', state: 'input-available' })
  await chat.addToolOutput({
    tool: 'request_user_action',
    toolCallId: action?.toolCallId ?? '',
    output: { completed: true, note: 'as Ada' },
  })
  await until(() => expect(textOf(chat)).toBe('Thank you.'))
  await until(() => isReady(chat))
  expect(toolsOf(chat)).toMatchObject([{ state: 'output-available', output: { completed: true } }])
  expect(plain(chat.messages)).toEqual(await stored(stage, chat.id))

  const broken = openChat({ url, token: stage.token, id: randomUUID() })
  await broken.sendMessage({ text: 'break' })
  expect([broken.status, broken.error?.message]).toEqual(['error', expect.stringContaining('broken')])
})
