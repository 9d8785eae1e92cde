/**
 * Conversations over a messaging channel with signed webhooks: time until a message is on disk and
 * acknowledged, time until the first reply, and the cost of a thousand conversations. The service runs in a
 * separate process; this one is the platform and a model that answers immediately.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type BenchProcess, startPart } from './part.ts'
import type { ServiceReport, ServiceUsage } from './service-protocol.ts'
import type { Reading } from './table.ts'

const SECRET = randomBytes(32)
/** Before measuring, the service loads and compiles what a conversation needs. */
const WARM_UP = 50
const ALONE = 200
const MANY = 1_000
const AT_ONCE = 64

type Times = { durable: number; first_part: number; answered: number }

/** @param database The URL of a Postgres store; absent: the embedded store. */
export async function benchChannels(directory: string, database?: string): Promise<Reading[]> {
  const dir = await mkdtemp(join(directory, 'cairn-bench-'))
  const platform = await startPlatform()
  const service = startPart('service')
  try {
    const { url, token } = (await service.ask({
      dir,
      ...(database !== undefined && { database }),
      config: {
        models: { providers: { bench: { kind: 'openai', base_url: `${platform.url}/v1` } } },
        agents: { assistant: { model: 'bench/instant' } },
        limits: { concurrent_turns: 5_000, requests_per_minute: 1_000_000 },
        channels: {
          bench: {
            platform: 'webhook',
            secret_env: 'SECRET',
            callback_url: `${platform.url}/parts`,
            access: 'open',
            agent: 'assistant',
          },
        },
      },
      env: { SECRET: `whsec_${SECRET.toString('base64')}` },
    })) as Extract<ServiceReport, { url: string }>
    const inbound = `${url}${await pathOf(url, token)}`
    const talk = (count: number, atOnce: number): Promise<Times[]> =>
      converse(count, atOnce, name => platform.hold(inbound, name))
    await talk(WARM_UP, 1)
    const alone = await talk(ALONE, 1)
    const before = await use(service)
    const began = performance.now()
    const many = await talk(MANY, AT_ONCE)
    const seconds = (performance.now() - began) / 1000
    const after = await use(service)
    return [
      ...readings('1 at once', alone),
      ...readings(`${AT_ONCE} at once`, many),
      { name: `${MANY} conversations, a message each, all answered`, value: round(seconds), unit: 's' },
      { name: 'CPU of a conversation', value: round((after.cpu_ms - before.cpu_ms) / MANY), unit: 'ms' },
      { name: 'peak RSS', value: round(after.peak_rss_mb), unit: 'MB' },
    ]
  } finally {
    await service.stop()
    await platform.close()
    await rm(dir, { recursive: true, force: true })
  }
}

const use = async (service: BenchProcess): Promise<ServiceUsage> =>
  (await service.ask('usage')) as ServiceUsage
const round = (value: number): number => Number(value.toPrecision(3))

async function pathOf(url: string, token: string): Promise<string> {
  const answer = await fetch(`${url}/v1/admin/channels`, { headers: { authorization: `Bearer ${token}` } })
  const { channels } = (await answer.json()) as { channels: { webhook_path: string }[] }
  const [channel] = channels
  if (channel === undefined) throw new Error('[bench] the channel is not there')
  return channel.webhook_path
}

/**
 * Holds this number of conversations, each with a different sender, because senders are rate-limited per
 * minute.
 */
async function converse(
  count: number,
  atOnce: number,
  hold: (name: string) => Promise<Times>,
): Promise<Times[]> {
  const times: Times[] = []
  const run = randomBytes(4).toString('hex')
  let next = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < count) times.push(await hold(`${run}-${next++}`))
    }),
  )
  return times
}

function readings(level: string, times: readonly Times[]): Reading[] {
  const at = (of: keyof Times, q: number): number => {
    const sorted = times.map(each => each[of]).toSorted((a, b) => a - b)
    return round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN)
  }
  return (
    [
      ['durable', 'webhook → 200'],
      ['first_part', 'webhook → first part out'],
      ['answered', 'webhook → answer out'],
    ] as const
  ).flatMap(([of, name]) => [
    { name: `${name}, ${level}, p50`, value: at(of, 0.5), unit: 'ms' },
    { name: `${name}, ${level}, p99`, value: at(of, 0.99), unit: 'ms' },
  ])
}

/** The platform, which routes replies to their conversations, and a model that answers immediately. */
async function startPlatform() {
  const heard = new Map<string, (type: string) => void>()
  const server = createServer((request, response) => {
    void readBody(request).then(body => {
      if (request.url?.startsWith('/v1') === true) return answerAtOnce(response)
      const part = JSON.parse(body) as { conversation_id: string; type: string }
      response.writeHead(200).end()
      heard.get(part.conversation_id)?.(part.type)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', 1024, resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Holds one conversation of one message and resolves when its answer has arrived. */
    async hold(inbound: string, name: string): Promise<Times> {
      const times: Times = { durable: Number.NaN, first_part: Number.NaN, answered: Number.NaN }
      const { promise, resolve } = Promise.withResolvers<void>()
      const began = performance.now()
      heard.set(name, type => {
        const ms = performance.now() - began
        if (Number.isNaN(times.first_part)) times.first_part = ms
        if (type !== 'answer') return
        times.answered = ms
        resolve()
      })
      const answer = await fetch(inbound, signedMessage(name))
      await answer.text()
      times.durable = performance.now() - began
      if (answer.status !== 200) throw new Error(`[bench] the webhook answered ${answer.status}`)
      await promise
      heard.delete(name)
      return times
    },
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

function answerAtOnce(response: ServerResponse): void {
  const chunk = (rest: object): string =>
    `data: ${JSON.stringify({ id: 'bench', object: 'chat.completion.chunk', created: 0, ...rest })}\n\n`
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(
    chunk({ choices: [{ index: 0, finish_reason: null, delta: { content: 'Four words, at once.' } }] }) +
      chunk({ choices: [{ index: 0, finish_reason: 'stop', delta: {} }] }) +
      chunk({ choices: [], usage: { prompt_tokens: 20, completion_tokens: 4, total_tokens: 24 } }) +
      'data: [DONE]\n\n',
  )
}

/** Signed as Standard Webhooks specifies. */
function signedMessage(name: string): RequestInit {
  const body = JSON.stringify({ conversation_id: name, user_id: name, text: 'How many words is that?' })
  const at = Math.floor(Date.now() / 1000)
  const signature = createHmac('sha256', SECRET).update(`${name}.${at}.${body}`).digest('base64')
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': name,
      'webhook-timestamp': String(at),
      'webhook-signature': `v1,${signature}`,
    },
    body,
  }
}
