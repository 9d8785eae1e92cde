/**
 * Slack as `emulate` implements it, behind a server that adds what it lacks: failures, the envelopes that
 * Slack puts around events (`authorizations`, `channel_type`, `bot_id`), button actions, Socket Mode.
 */
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { createEmulator } from 'emulate'
import { startSockets } from './fake-sockets.ts'

export const SIGNING_SECRET = '8f742231b10e8888abcd99yyyzzz85a5'
export const BOT_TOKEN = 'xoxb-fake-1'
export const APP_TOKEN = 'xapp-fake-1'
export const BOT = 'U0BOT'
export const TEAM = 'T000000001'
const PEOPLE = ['ann', 'bob'] as const
export type Person = (typeof PEOPLE)[number]
const tokenOf = (who: Person): string => `xoxp-${who}`

/** How Slack handles a call; `drop`: accepts it and never answers. */
export type Fault = 'drop' | 'limit' | { status: number } | { error: string }
export type Kept = {
  ts: string
  user: string
  text: string
  thread_ts?: string
  edited?: unknown
  files?: { name: string }[]
  blocks?: {
    type: string
    text?: string
    elements?: { action_id: string; value: string; text: { text: string } }[]
  }[]
  metadata?: { event_payload: { key: string } }
}
type Json = Record<string, unknown>
export type Signed = { headers: Headers; raw: Uint8Array }

export async function startFakeSlack() {
  const emulator = await createEmulator({
    service: 'slack',
    port: 0,
    seed: {
      slack: {
        users: PEOPLE.map(name => ({ name })),
        channels: [{ name: 'talk' }],
        oauth_apps: [
          {
            client_id: 'c',
            client_secret: 's',
            name: 'Cairn',
            app_id: 'A1',
            bot_id: 'B1',
            bot_user_id: BOT,
            bot_name: 'cairn',
            redirect_uris: [],
          },
        ],
        tokens: [
          { token: BOT_TOKEN, user: BOT, type: 'bot', bot_id: 'B1', bot_user_id: BOT, app_id: 'A1' },
          ...PEOPLE.map(name => ({ token: tokenOf(name), user: name, type: 'user' })),
        ],
      },
    },
  })
  const faults = new Map<string, Fault[]>()
  /** By path. */
  const files = new Map<string, Buffer>()
  const calls: { method: string; body: Json }[] = []
  const server = createServer((req, res) => void answer(req, res).catch(() => res.destroy()))
  const sockets = startSockets(server, APP_TOKEN)

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const method = (req.url ?? '').replace(/^\/api\//, '')
    const raw = await buffer(req)
    const kept = files.get(method)
    if (kept !== undefined)
      return req.headers.authorization === `Bearer ${BOT_TOKEN}`
        ? void res.writeHead(200, { 'content-type': 'text/plain' }).end(kept)
        : void res.writeHead(200, { 'content-type': 'text/html' }).end('<form>')
    const type = req.headers['content-type'] ?? ''
    const reply = (status: number, text: string, headers: Record<string, string> = {}): void =>
      void res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
    if (method === 'apps.connections.open')
      return reply(200, JSON.stringify(sockets.open(req.headers.authorization)))
    calls.push({ method, body: bodyOf(raw, type) })
    const fault = faults.get(method)?.shift()
    if (fault === 'limit') return reply(429, '', { 'retry-after': '1' })
    if (typeof fault === 'object')
      return 'status' in fault
        ? reply(fault.status, '')
        : reply(200, JSON.stringify({ ok: false, error: fault.error }))
    const answered = await fetch(`${emulator.url}/api/${method}`, {
      method: 'POST',
      headers: { authorization: String(req.headers.authorization), 'content-type': type },
      body: raw,
    })
    const text = await answered.text()
    if (fault === 'drop') return void res.destroy()
    reply(answered.status, text)
  }

  const api = async <T>(token: string, method: string, body: Json): Promise<T> => {
    const response = await fetch(`${emulator.url}/api/${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const answered = (await response.json()) as T & { ok: boolean; error?: string }
    if (!answered.ok) throw new Error(`emulate answered ${answered.error} to ${method}`)
    return answered
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const ids = Object.fromEntries(
    await Promise.all(
      PEOPLE.map(async who => [who, (await api<{ user_id: string }>(tokenOf(who), 'auth.test', {})).user_id]),
    ),
  ) as Record<Person, string>
  const { channels } = await api<{ channels: { id: string; name: string }[] }>(
    BOT_TOKEN,
    'conversations.list',
    {},
  )
  const talk = channels.find(({ name }) => name === 'talk')?.id ?? ''

  return {
    apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/`,
    ids,
    /** A public channel. */
    talk,
    calls,
    files,
    sockets,
    fail: (method: string, ...next: Fault[]) =>
      void faults.set(method, [...(faults.get(method) ?? []), ...next]),
    /** The direct message channel of a person and the bot. */
    dm: async (who: Person) =>
      (await api<{ channel: { id: string } }>(tokenOf(who), 'conversations.open', { users: BOT })).channel.id,
    /** Posts it in Slack, and returns the event that Slack would send for it. */
    async say(who: Person, channel: string, text: string, thread_ts?: string): Promise<Json> {
      const { message } = await api<{ message: Json }>(tokenOf(who), 'chat.postMessage', {
        channel,
        text,
        ...(thread_ts === undefined ? {} : { thread_ts }),
      })
      return envelope({
        ...message,
        channel,
        channel_type: channel.startsWith('D') ? 'im' : 'channel',
        team: TEAM,
      })
    },
    messages: async (channel: string, thread_ts?: string): Promise<Kept[]> => {
      const asked = thread_ts === undefined ? { channel } : { channel, ts: thread_ts }
      const method = thread_ts === undefined ? 'conversations.history' : 'conversations.replies'
      const { messages } = await api<{ messages: Kept[] }>(BOT_TOKEN, method, { ...asked, limit: 1000 })
      return messages.toSorted((a, b) => (a.ts < b.ts ? -1 : 1))
    },
    async close(): Promise<void> {
      sockets.close()
      server.closeAllConnections()
      await new Promise<void>(resolve => server.close(() => resolve()))
      await emulator.close()
    },
  }
}
export type FakeSlack = Awaited<ReturnType<typeof startFakeSlack>>

let events = 0
export const envelope = (event: Json): Json => ({
  token: 'verification',
  team_id: TEAM,
  api_app_id: 'A1',
  type: 'event_callback',
  event_id: `Ev${++events}`,
  event_time: Math.floor(Date.now() / 1000),
  authorizations: [
    { enterprise_id: null, team_id: TEAM, user_id: BOT, is_bot: true, is_enterprise_install: false },
  ],
  event,
})

/** https://docs.slack.dev/reference/interaction-payloads/block_actions-payload */
export function pressed(user: string, channel: string, message: Kept, label: string): Json {
  const button = message.blocks
    ?.flatMap(({ elements = [] }) => elements)
    .find(({ text }) => text.text === label)
  if (button === undefined)
    throw new Error(`the message has no button ${label}: ${JSON.stringify(message.blocks)}`)
  return {
    type: 'block_actions',
    team: { id: TEAM, domain: 'emulate' },
    user: { id: user, username: 'ann', name: 'ann', team_id: TEAM },
    api_app_id: 'A1',
    container: { type: 'message', message_ts: message.ts, channel_id: channel, is_ephemeral: false },
    trigger_id: `12.34.${++events}`,
    channel: { id: channel, name: channel.startsWith('D') ? 'directmessage' : 'talk' },
    message: { type: 'message', ...message },
    response_url: 'https://hooks.slack.com/actions/T/1/x',
    actions: [{ ...button, block_id: 'b1', type: 'button', action_ts: `${Date.now() / 1000}${++events}` }],
  }
}

/** As Slack signs a request of the Events API or, with `form`, an interaction. */
export function signedBySlack(
  payload: Json,
  { secret = SIGNING_SECRET, at = Date.now(), form = payload['type'] === 'block_actions' } = {},
): Signed {
  const json = JSON.stringify(payload)
  const body = form ? new URLSearchParams({ payload: json }).toString() : json
  const timestamp = String(Math.floor(at / 1000))
  const signature = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')
  return {
    headers: new Headers({
      'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${signature}`,
    }),
    raw: Buffer.from(body),
  }
}

function bodyOf(raw: Buffer, type: string): Json {
  if (type.includes('json')) return JSON.parse(raw.toString()) as Json
  return Object.fromEntries(new URLSearchParams(raw.toString()))
}
