/** Other attacks on the server: keys, framing, names, and effects of one client on others. */
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Completion, ModelCard } from '@cairn-tune/serve/protocol'
import { openFixture } from '../server-fixture.ts'
import { attempts, tally } from './attacks.ts'

const lines: string[] = []
const server = await openFixture({
  maxLoras: 2,
  maxCpuLoras: 6,
  chatTemplate: '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}',
  log: line => lines.push(line),
})
const keyed = await openFixture({ apiKeys: ['sk-right', 'sk-ană'] })
afterAll(async () => {
  await Promise.all([server.close(), keyed.close()])
})
const at = (name: string) => join(server.directory, name)

const load = (lora_name: string, path: string) =>
  server.post('/v1/load_lora_adapter', { lora_name, lora_path: at(path) })
const unload = (lora_name: string) => server.post('/v1/unload_lora_adapter', { lora_name })
const ask = (model: string, extra: object = {}) =>
  server.post('/v1/completions', {
    model,
    prompt: 'Ana are mere, și multe altele',
    max_tokens: 6,
    temperature: 0,
    ignore_eos: true,
    return_token_ids: true,
    logprobs: 1,
    ...extra,
  })
const answer = (reply: { body: never }) => (reply.body as Completion).choices[0]

/** All bytes that a new connection receives, until it is closed or `isWhole`. */
function exchange(bytes: string, isWhole: (text: string) => boolean = () => false): Promise<string> {
  return new Promise(resolve => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.write(bytes))
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', (part: string) => {
      text += part
      if (isWhole(text)) socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(text))
  })
}

test('only the exact key is accepted, and only in the authorization header', async () => {
  const wrong = [
    '',
    'Bearer',
    'Bearer ',
    'Bearer sk-righ',
    'Bearer sk-rightt',
    'Bearer SK-RIGHT',
    'Bearer sk-right,sk-right',
    'Bearer sk-right sk-right',
    'Bearer "sk-right"',
    'Bearer sk%2dright',
    'Basic sk-right',
    'sk-right',
    `Bearer ${'sk-right'.repeat(900)}`,
    'Bearer undefined',
    'Bearer null',
    'Bearer *',
  ]
  const paths = ['/v1/models', '/v1/models?api_key=sk-right', '/metrics', '/v1/models/base', '//v1/models']
  const opened: string[] = []
  for (const authorization of wrong)
    for (const path of paths) {
      const headers = {
        authorization,
        'x-api-key': 'sk-right',
        'api-key': 'sk-right',
        cookie: 'key=sk-right',
      }
      const { status } = await fetch(keyed.url + path, { headers })
      if (status !== 401) opened.push(`${authorization} ${path}: ${status}`)
    }
  // The open routes are open only by their exact path.
  for (const path of ['/health/', '/health/../v1/models', '/HEALTH', '/ping;/v1/models', '/version%2f'])
    if ((await fetch(keyed.url + path)).status === 200) opened.push(path)
  tally('keys', wrong.length * paths.length + 5, opened.length)
  expect(opened).toEqual([])
  expect(
    (await fetch(`${keyed.url}/v1/models`, { headers: { authorization: 'bearer sk-right' } })).status,
  ).toBe(200)
})

test('never reads one request as two', async () => {
  const head = (path: string, headers: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n\r\n`
  const second = `${head('/v1/unload_lora_adapter', 'Content-Length: 20')}{"lora_name":"wide"}`
  const first = (headers: string, body = ''): string => `${head('/v1/completions', headers)}${body}${second}`
  const tries = [
    first('Content-Length: 0\r\nTransfer-Encoding: chunked', '0\r\n\r\n'),
    first('Transfer-Encoding: chunked\r\nContent-Length: 4', '0\r\n\r\n'),
    first('Content-Length: 0\r\nContent-Length: 5'),
    first('Content-Length: +0'),
    first('Content-Length: 0x0'),
    first('Content-Length: 0, 0'),
    first('Content-Length: 00\r\n\tfolded'),
    first('Content-Length : 0'),
    first('Transfer-Encoding: xchunked', '0\r\n\r\n'),
    first('Transfer-Encoding: chunked, identity', '0\r\n\r\n'),
    first('Transfer-Encoding : chunked', '0\r\n\r\n'),
    first('Transfer-Encoding: chunked', '0;a="\r\n\r\n"\r\nX: '),
    first('Transfer-Encoding: chunked', '0\n\n'),
    first('X: a\rContent-Length: 0'),
    first('X: a\u0000Content-Length: 0'),
    first('Expect: 100-continue\r\nContent-Length: 0\r\nTransfer-Encoding: chunked', '0\r\n\r\n'),
  ]
  for (const bytes of tries) await exchange(bytes, text => (text.match(/HTTP\/1\.1/g) ?? []).length > 1)
  const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: ModelCard[] }
  const isThere = data.some(({ id }) => id === 'wide')
  tally('framing', tries.length, isThere ? 0 : 1)
  expect(isThere).toBe(true)
})

test("an adapter's name has no other effect", async () => {
  const names = [
    '__proto__',
    'constructor',
    'toString',
    'a\nloaded "admin" from "/etc"',
    'a\u001b[2J',
    '../wide',
    '%',
    'a/b',
    'base ',
    ' wide',
    '"} 1\nfake_metric{a="',
    'wide\u0000',
    '\u202ewide',
  ]
  const before = answer(await ask('wide'))
  const wrong: string[] = []
  for (const name of names) {
    if ((await ask(name)).status !== 404) wrong.push(`${name} is there before it was loaded`)
    const { status } = await load(name, 'narrow')
    const card = await fetch(`${server.url}/v1/models/${encodeURIComponent(name)}`)
    if (status !== 200 || card.status !== 200)
      wrong.push(`${JSON.stringify(name)}: ${status}, ${card.status}`)
    if ((await fetch(`${server.url}/metrics`).then(reply => reply.text())).includes('fake_metric'))
      wrong.push('a name is a metric')
    await unload(name)
    if ((await ask(name)).status !== 404) wrong.push(`${name} is there after it was unloaded`)
  }
  for (const name of ['base', '', 'x'.repeat(257)])
    if ((await load(name, 'narrow')).status !== 400) wrong.push(`${name.slice(0, 9)} can be taken`)
  if (lines.some(line => line.includes('\n') || line.includes('\u001b')))
    wrong.push('a name is a line of the log')
  tally('names of adapters', names.length + 3, wrong.length)
  expect(wrong).toEqual([])
  expect(answer(await ask('wide'))).toEqual(before)
})

/** Promise T6.5: A name reassigned to another adapter returns only that adapter's answers. */
test('a reused name never returns answers of the previous adapter', async () => {
  const expected = { wide: answer(await ask('wide')), narrow: answer(await ask('narrow')) }
  const rounds = attempts(6, 100)
  let wrong = 0
  for (let round = 0; round < rounds; round++) {
    const which = round % 2 === 0 ? 'wide' : 'narrow'
    expect((await load('turn', which)).status).toBe(200)
    // The cache contains the prompt of the previous adapter under the same name.
    const replies = await Promise.all([ask('turn'), ask('turn'), ask('turn', { max_tokens: 3 })])
    for (const reply of replies.slice(0, 2))
      if (JSON.stringify(answer(reply)) !== JSON.stringify(expected[which])) wrong++
    await unload('turn')
  }
  tally('names given anew', 3 * rounds, wrong)
  expect(wrong).toBe(0)
})

test('one of many concurrent loads of a name succeeds, and its slot is free after the unload', async () => {
  for (let round = 0; round < attempts(2, 20); round++) {
    const replies = await Promise.all(Array.from({ length: 30 }, () => load('race', 'wide')))
    const loaded = replies.filter(({ status }) => status === 200).length
    const unloaded = await Promise.all(Array.from({ length: 30 }, () => unload('race')))
    tally('races of loads', 60, loaded === 1 ? 0 : 1)
    expect([loaded, unloaded.filter(({ status }) => status === 200).length]).toEqual([1, 1])
  }
  expect((await Promise.all(['wide', 'narrow'].map(name => ask(name)))).map(({ status }) => status)).toEqual([
    200, 200,
  ])
})

test('abandoned requests leave no running work and no cache memory', async () => {
  const metric = async (name: string) =>
    Number(
      new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(
        await (await fetch(`${server.url}/metrics`)).text(),
      )?.[1],
    )
  const count = attempts(100, 1000)
  await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const gone = new AbortController()
      const reply = fetch(`${server.url}/v1/completions`, {
        method: 'POST',
        signal: gone.signal,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: ['base', 'wide', 'narrow'][i % 3],
          prompt: 'a'.repeat(1 + (i % 200)),
          max_tokens: 50,
          n: 1 + (i % 4),
          stream: i % 2 === 0,
        }),
      })
      setImmediate(() => gone.abort())
      await reply.catch(() => undefined)
    }),
  )
  await expect.poll(() => metric('cairn_tune_requests_running')).toBe(0)
  await expect.poll(() => metric('cairn_tune_requests_waiting')).toBe(0)
  const used = await metric('cairn_tune_kv_cache_usage_ratio')
  tally('requests that are left', count, used === 0 ? 0 : 1)
  expect(used).toBe(0)
  expect((await ask('narrow')).status).toBe(200)
})

test("a client's template or template variables cannot read server data", async () => {
  const chat = (extra: object) =>
    server.post('/v1/chat/completions', {
      messages: [{ role: 'user', content: 'a' }],
      max_tokens: 1,
      ...extra,
    })
  const refused: object[] = [
    { chat_template: '{{ 7 * 7 }}' },
    { chat_template_kwargs: { messages: 'x', raise_exception: 'x', constructor: {}, __lstrip_of: 'x' } },
    { messages: [{ role: 'user', content: '{{ messages.constructor.constructor("return process")() }}' }] },
    { messages: [{ role: '{% include "/etc/passwd" %}', content: 'a' }] },
    { chat_template_kwargs: { bos_token: { toString: 'x' }, tools: { length: 1e9 } } },
  ]
  const statuses: number[] = []
  for (const extra of refused) {
    const { status, body } = await chat(extra)
    statuses.push(status)
    expect(JSON.stringify(body)).not.toMatch(/root:|process|\/work|node_modules/)
  }
  tally('templates', refused.length, statuses.filter(status => status >= 500).length)
  expect(statuses.every(status => status < 500)).toBe(true)
  expect(statuses[0]).toBe(400)
})

test('answers hundreds of concurrent requests with different forms', async () => {
  const count = attempts(60, 600)
  const form = (i: number) => ({
    structured_outputs: { regex: `[a-z]{1,${10 + i}}${i}` },
    max_tokens: 2,
    return_token_ids: false,
    logprobs: null,
    ignore_eos: false,
  })
  const statuses = await Promise.all(
    Array.from({ length: count }, async (_, i) => (await ask('base', form(i))).status),
  )
  tally('different forms', count, statuses.filter(status => status !== 200).length)
  expect(new Set(statuses)).toEqual(new Set([200]))
})
