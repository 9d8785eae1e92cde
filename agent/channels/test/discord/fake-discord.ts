/**
 * Discord's REST API and gateway: channels, threads, messages, button actions, and failures of the platform.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

export const TOKEN = 'Y2Fpcm4.canary.of-a-token-that-no-log-may-hold'
export const ME = {
  id: '4242',
  username: 'cairn',
  discriminator: '0',
  global_name: null,
  avatar: null,
  bot: true,
}
const ANN = { id: '7', username: 'ann', discriminator: '0', global_name: 'Ann', avatar: null }
export const BOB = { id: '8', username: 'bob', discriminator: '0', global_name: 'Bob', avatar: null }
export const DIRECT = '70'
const GUILD = '900'
export const GENERAL = '901'

type Json = Record<string, unknown>
type Button = { custom_id: string; label: string }
export type Shown = {
  id: string
  channel: string
  content: string
  buttons: Button[]
  edits: number
  nonce: unknown
  mentions: unknown
  file?: { name: string; bytes: number }
}
/** `drop`: accept the request and close the connection without an answer. */
type Fault = 'drop' | { status: number; body: Json }
type Call = { method: string; path: string; body: Json }

export async function startFakeDiscord() {
  const messages: Shown[] = []
  const whispers: string[] = []
  const calls: Call[] = []
  const faults: { match: RegExp; fault: Fault }[] = []
  const threads = new Set<string>()
  const dispatched: { s: number; t: string; d: unknown }[] = []
  const sockets = new Set<WebSocket>()
  let nextId = 10_000n
  const newId = (): string => String(nextId++)
  /** Ends the next identify with this code. */
  let closing: number[] = []
  const files = new Map<string, Buffer>()

  const messageOf = ({ id, channel, content, nonce }: Shown): Json => ({
    id,
    channel_id: channel,
    content,
    nonce,
    ...BARE,
    author: ME,
  })
  function post(channel: string, body: Json, file?: Shown['file']): Json {
    const nonce = body['nonce']
    const before = messages.find(shown => nonce !== undefined && shown.nonce === nonce)
    if (before !== undefined && body['enforce_nonce'] === true) return messageOf(before)
    const rows = (body['components'] ?? []) as { components: Button[] }[]
    const shown: Shown = {
      id: newId(),
      channel,
      content: String(body['content']),
      buttons: rows.flatMap(({ components }) => components),
      edits: 0,
      nonce,
      mentions: body['allowed_mentions'],
      ...(file === undefined ? {} : { file }),
    }
    messages.push(shown)
    return messageOf(shown)
  }
  const channelOf = (id: string): Json =>
    id === DIRECT
      ? { id, type: 1, recipients: [ANN], last_message_id: null }
      : { id, type: threads.has(id) ? 11 : 0, guild_id: GUILD, name: 'general', parent_id: null }

  function route({ method, path, body }: Call, file?: Shown['file']): { status: number; body: unknown } {
    const ok = (answer: unknown) => ({ status: 200, body: answer })
    if (path === '/gateway/bot')
      return ok({
        url: `ws://127.0.0.1:${port()}`,
        shards: 1,
        session_start_limit: { total: 1000, remaining: 999, reset_after: 1, max_concurrency: 1 },
      })
    if (path === '/users/@me') return ok(ME)
    if (path === '/applications/@me') return ok({ id: ME.id, name: 'Cairn' })
    if (path.endsWith('/commands')) return ok([])
    const [, channel = '', rest = ''] = /^\/channels\/(\d+)(.*)$/.exec(path) ?? []
    const [, thread] = /^\/messages\/(\d+)\/threads$/.exec(rest) ?? []
    if (thread !== undefined) {
      if (threads.has(thread))
        return { status: 400, body: { code: 160004, message: 'There is a thread already' } }
      threads.add(thread)
      return ok(channelOf(thread))
    }
    if (rest === '' && channel !== '') return ok(channelOf(channel))
    if (rest === '/typing') return { status: 204, body: null }
    if (rest === '/messages' && method === 'POST') return ok(post(channel, body, file))
    const edited = messages.find(({ id }) => rest === `/messages/${id}`)
    if (edited !== undefined && method === 'PATCH') {
      edited.content = String(body['content'])
      edited.edits += 1
      return ok(messageOf(edited))
    }
    if (path.startsWith('/interactions/')) return { status: 204, body: null }
    if (path.startsWith('/webhooks/')) {
      whispers.push(String(body['content']))
      return ok({ id: newId(), ...BARE, channel_id: DIRECT, content: body['content'], author: ME })
    }
    return { status: 404, body: { code: 10003, message: 'Unknown Channel' } }
  }

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = req.url ?? ''
    const cdn = files.get(url)
    if (cdn !== undefined) return void res.end(cdn)
    const path = decodeURIComponent(url.replace(/^\/api\/v\d+/, '').replace(/\?.*$/, ''))
    const { body, file } = await readBody(req)
    const call = { method: req.method ?? 'GET', path, body }
    const reply = (status: number, value: unknown): void => {
      if (status === 204) return void res.writeHead(status).end()
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    const isOpen = path.startsWith('/interactions/') || path.startsWith('/webhooks/')
    if (!isOpen && req.headers.authorization !== `Bot ${TOKEN}`)
      return reply(401, { code: 0, message: '401: Unauthorized' })
    calls.push(call)
    const at = faults.findIndex(({ match }) => match.test(`${call.method} ${path}`))
    const fault = at < 0 ? undefined : faults.splice(at, 1)[0]?.fault
    if (fault !== undefined && fault !== 'drop') return reply(fault.status, fault.body)
    const done = route(call, file)
    if (fault === 'drop') return void res.destroy()
    reply(done.status, done.body)
  }

  const server = createServer((req, res) => void answer(req, res))
  const gateway = new WebSocketServer({ server })
  gateway.on('connection', socket => {
    const send = (frame: Json): void => socket.send(JSON.stringify(frame))
    const dispatch = (event: { s: number; t: string; d: unknown }): void => send({ op: 0, ...event })
    send({ op: 10, d: { heartbeat_interval: 45_000 } })
    socket.on('close', () => sockets.delete(socket))
    socket.on('message', (raw: Buffer) => {
      const { op, d } = JSON.parse(raw.toString()) as { op: number; d: Json }
      if (op === 1) send({ op: 11 })
      if (op === 2) {
        const code = d['token'] === TOKEN ? closing.shift() : 4004
        if (code !== undefined) return socket.close(code)
        sockets.add(socket)
        const s = dispatched.length + 1
        const ready = {
          v: 10,
          user: ME,
          guilds: [],
          session_id: 'session-1',
          resume_gateway_url: `ws://127.0.0.1:${port()}`,
          application: { id: ME.id, flags: 0 },
        }
        dispatched.push({ s, t: 'READY', d: ready })
        dispatch(dispatched.at(-1)!)
      }
      if (op === 6) {
        sockets.add(socket)
        for (const event of dispatched.filter(({ s, t }) => s > Number(d['seq']) && t !== 'READY'))
          dispatch(event)
        dispatch({ s: dispatched.length, t: 'RESUMED', d: {} })
      }
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const port = (): number => (server.address() as AddressInfo).port

  function push(t: string, d: unknown): void {
    const event = { s: dispatched.length + 1, t, d }
    dispatched.push(event)
    for (const socket of sockets) socket.send(JSON.stringify({ op: 0, ...event }))
  }
  function say(content: string, more: Json = {}): Json {
    const { channel_id = DIRECT } = more
    const channel_type = channelOf(String(channel_id))['type']
    const said = { id: newId(), channel_id, channel_type, author: ANN, ...BARE, content, ...more }
    push('MESSAGE_CREATE', said)
    return said
  }
  const inGuild = (channel: string, from = ANN): Json => ({
    channel_id: channel,
    guild_id: GUILD,
    author: from,
    member: { nick: null, roles: [] },
  })
  const interaction = (type: number, data: Json, from: typeof ANN, channel: string): Json => ({
    id: newId(),
    application_id: ME.id,
    type,
    data,
    token: 'interaction-token',
    version: 1,
    locale: 'en-US',
    entitlements: [],
    authorizing_integration_owners: {},
    attachment_size_limit: 10_000_000,
    channel_id: channel,
    channel: channelOf(channel),
    ...(channel === DIRECT
      ? { user: from }
      : {
          guild_id: GUILD,
          guild: { id: GUILD, locale: 'en-US', features: [] },
          member: { user: from, nick: null, roles: [], permissions: '0', joined_at: BARE.timestamp },
        }),
  })
  return {
    url: `http://127.0.0.1:${port()}/api`,
    cdn: (name: string, bytes: Buffer): string => {
      files.set(`/cdn/${name}`, bytes)
      return `http://127.0.0.1:${port()}/cdn/${name}`
    },
    messages,
    whispers,
    calls,
    threads,
    say,
    inGuild,
    push,
    edit: (said: Json, content: string): void =>
      push('MESSAGE_UPDATE', { ...said, content, edited_timestamp: '2026-11-23T12:00:00.000Z' }),
    command: (name: string, from = ANN, channel = DIRECT): void =>
      push('INTERACTION_CREATE', interaction(2, { id: '1', name, type: 1 }, from, channel)),
    /** Clicks the newest button with that label. */
    press(label: string, from = ANN): void {
      const shown = messages.findLast(({ buttons }) => buttons.some(button => button.label === label))
      const button = shown?.buttons.find(each => each.label === label)
      if (shown === undefined || button === undefined) throw new Error(`there is no button ${label}`)
      const data = { component_type: 2, custom_id: button.custom_id }
      push('INTERACTION_CREATE', { ...interaction(3, data, from, shown.channel), message: messageOf(shown) })
    },
    fail: (match: RegExp, ...next: Fault[]): void =>
      void faults.push(...next.map(fault => ({ match, fault }))),
    closeNext: (...codes: number[]): void => void (closing = codes),
    /** Closes the sockets, as Discord does every few hours. */
    cut: (): void => {
      for (const socket of sockets) socket.terminate()
    },
    sockets: (): number => sockets.size,
    close: () =>
      new Promise<void>(resolve => {
        for (const socket of gateway.clients) socket.terminate()
        gateway.close()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
export type FakeDiscord = Awaited<ReturnType<typeof startFakeDiscord>>

/** Fields that every Discord message has. */
const BARE = {
  type: 0,
  timestamp: '2026-11-23T11:00:00.000Z',
  edited_timestamp: null,
  tts: false,
  mention_everyone: false,
  mentions: [] as unknown[],
  mention_roles: [],
  attachments: [] as unknown[],
  embeds: [],
  components: [],
  pinned: false,
}

async function readBody(req: IncomingMessage): Promise<{ body: Json; file?: NonNullable<Shown['file']> }> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  const raw = Buffer.concat(chunks)
  const type = req.headers['content-type'] ?? ''
  if (!type.startsWith('multipart/'))
    return { body: raw.length === 0 ? {} : (JSON.parse(raw.toString()) as Json) }
  const form = await new Response(raw, { headers: { 'content-type': type } }).formData()
  const file = form.get('files[0]')
  const body = JSON.parse(String(form.get('payload_json'))) as Json
  return file instanceof File ? { body, file: { name: file.name, bytes: file.size } } : { body }
}
