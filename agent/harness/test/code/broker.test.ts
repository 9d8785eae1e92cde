/**
 * The broker between a sandbox and a model server: which key it sends where, what it counts, and when it
 * ends.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Rates } from '@cairn/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { createBroker } from '../../src/capabilities/code/broker.ts'
import { readUsage } from '../../src/capabilities/code/broker-usage.ts'

const KEY = 'sk-the-key-of-the-operator'

async function listen(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type Seen = { url: string; headers: IncomingMessage['headers']; body: string }
async function modelServer(type: string, answer: string): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    seen.push({ url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() })
    response.writeHead(200, { 'content-type': type })
    response.end(answer)
  })
  return { url: await listen(server), seen }
}

const CHAT =
  'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n' +
  'data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,' +
  '"prompt_tokens_details":{"cached_tokens":40}}}\n\ndata: [DONE]\n\n'

async function open(
  kind: 'openai' | 'anthropic',
  answer: string,
  budget: { max_cost_usd: number | null; max_tokens: number | null } = {
    max_cost_usd: null,
    max_tokens: null,
  },
) {
  const upstream = await modelServer(
    answer.startsWith('{') ? 'application/json' : 'text/event-stream',
    answer,
  )
  const broker = createBroker({
    provider: 'vendor',
    upstream: { kind, base_url: `${upstream.url}/v1`, key: KEY, headers: { 'x-team': 'a' } },
    model: 'vendor/large',
    ratesOf: model => (model === 'vendor/large' ? Rates.parse({ input: 1, output: 10 }) : undefined),
    fetch: globalThis.fetch,
    budget,
  })
  const url = await listen(createServer(broker.handle))
  const ask = (
    path: string,
    headers: Record<string, string>,
    body: object = { model: 'large', stream: true },
  ) => fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const auth = { authorization: `Bearer ${broker.token}` }
  const chat = `${broker.path}/chat/completions`
  return { broker, seen: upstream.seen, ask, auth, chat }
}

/**
 * Promise 14.12: A model key never enters a coding agent's sandbox, and the run's token expires with the run.
 */
test('sends the key only to the model server, and the token expires with the run', async () => {
  const { broker, seen, ask, auth, chat } = await open('openai', CHAT)
  const answered = await ask(chat, { ...auth, cookie: 'of-the-box=1' })
  const headers = JSON.stringify([...answered.headers])
  expect(await answered.text()).toBe(CHAT)
  expect(headers + CHAT).not.toContain(KEY)
  const [got] = seen
  expect(got!.url).toBe('/v1/chat/completions')
  expect(got!.headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'x-team': 'a' })
  expect(got!.headers.cookie).toBeUndefined()
  expect(JSON.stringify(got)).not.toContain(broker.token)
  expect(JSON.parse(got!.body)).toMatchObject({ stream_options: { include_usage: true } })
  broker.close()
  expect((await ask(chat, auth)).status).toBe(401)
  expect(seen).toHaveLength(1)
})

test.each([
  ['no token', {}, '/_cairn/llm/vendor/chat/completions', 401],
  ['another token', { authorization: 'Bearer cairn_run_no' }, '/_cairn/llm/vendor/chat/completions', 401],
  ['another provider', null, '/_cairn/llm/other/chat/completions', 404],
  ['a path beside it', null, '/_cairn/llm/vendor-two/x', 404],
  ['a call that no model answers', null, '/_cairn/llm/vendor/files', 404],
  ['a batch, whose cost is told later', null, '/_cairn/llm/vendor/v1/batches', 404],
  ['a way up', null, '/_cairn/llm/vendor/chat/completions/%2e%2e/%2e%2e/%2e%2e/admin', 404],
] as const)('%s reaches nothing', async (_, headers, path, status) => {
  const { seen, ask, auth } = await open('openai', CHAT)
  expect((await ask(path, headers ?? auth)).status).toBe(status)
  expect(seen).toEqual([])
})

test('adds up and prices the reported usage, and answers 429 when the budget is used up', async () => {
  const { broker, seen, ask, auth, chat } = await open('openai', CHAT, {
    max_cost_usd: 0.0005,
    max_tokens: null,
  })
  for (const _ of [1, 2]) await (await ask(chat, auth)).text()
  expect(broker.used()).toEqual({
    input_tokens: 200,
    output_tokens: 40,
    cache_read_tokens: 80,
    cost_usd: 0.0006,
    model: 'vendor/large',
  })
  const over = await ask(chat, auth)
  expect(over.status).toBe(429)
  expect(await over.json()).toMatchObject({ error: { code: 'budget' } })
  expect(seen).toHaveLength(2)
})

test('reports a model without a rate by its name', async () => {
  const { broker, ask, auth, chat } = await open('openai', CHAT)
  await (await ask(chat, auth, { model: 'small', stream: true })).text()
  expect(broker.used()).toMatchObject({ input_tokens: 100, cost_usd: null, model: 'vendor/small' })
})

test('rejects a model without a price under a budget in money', async () => {
  const { seen, ask, auth, chat } = await open('openai', CHAT, { max_cost_usd: 5, max_tokens: null })
  const refused = await ask(chat, auth, { model: 'small', stream: true })
  expect(refused.status).toBe(400)
  expect(await refused.json()).toMatchObject({ error: { code: 'unpriced_model' } })
  expect(seen).toEqual([])
})

test('an Anthropic server gets its own header, and its cached tokens count as input', async () => {
  const events =
    'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":10,' +
    '"cache_read_input_tokens":50,"cache_creation_input_tokens":5,"output_tokens":1}}}\n\n' +
    'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":30}}\n\n'
  const { broker, seen, ask } = await open('anthropic', events)
  await (await ask(`${broker.path}/v1/messages`, { 'x-api-key': broker.token })).text()
  expect(seen[0]!.headers['x-api-key']).toBe(KEY)
  expect(seen[0]!.headers.authorization).toBeUndefined()
  expect(broker.used()).toMatchObject({ input_tokens: 65, output_tokens: 30, cache_read_tokens: 50 })
})

test('reads usage wherever the stream is cut, and from a document', () => {
  const document = '{"usage":{"input_tokens":7,"output_tokens":3,"input_tokens_details":{"cached_tokens":2}}}'
  const expected = { input_tokens: 7, output_tokens: 3, cache_read_tokens: 2 }
  for (let at = 0; at <= document.length; at++) {
    const stream = readUsage(true)
    const line = `data: ${document}\n`
    stream.push(line.slice(0, at))
    stream.push(line.slice(at))
    expect(stream.usage()).toMatchObject(expected)
  }
  const whole = readUsage(false)
  whole.push(document)
  expect(whole.usage()).toMatchObject(expected)
})
