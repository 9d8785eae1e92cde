/**
 * A web page in a browser on the same machine: it can send requests to a server without a key and must have
 * no effect.
 */
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { ModelCard } from '@cairn-tune/serve/protocol'
import { createAccessControl } from '../../src/http/access-control.ts'
import { openFixture } from '../server-fixture.ts'
import { tally } from './attacks.ts'

const server = await openFixture()
afterAll(() => server.close())
const { port, host } = new URL(server.url)

type Sent = { method?: string; path: string; headers?: Record<string, string>; body?: string }
type Reply = { status: number; text: string; headers: NodeJS.Dict<string | string[]> }

/** fetch sets Host and forbids Origin, so requests are built by hand. */
function send({ method = 'POST', path, headers = {}, body = '' }: Sent): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, method, path, headers: { host, ...headers } },
      response => {
        let text = ''
        response
          .setEncoding('utf8')
          .on('data', (part: string) => (text += part))
          .on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }))
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

const json = { 'content-type': 'application/json' }
const load = JSON.stringify({ lora_name: 'evil', lora_path: join(server.directory, 'wide') })
const unload = JSON.stringify({ lora_name: 'wide' })
const prompt = JSON.stringify({ prompt: 'x', max_tokens: 1 })
const COMMANDS = [
  ['/v1/load_lora_adapter', load],
  ['/v1/unload_lora_adapter', unload],
  ['/v1/completions', prompt],
  ['/v1/chat/completions', JSON.stringify({ messages: [{ role: 'user', content: 'x' }] })],
  ['/v1/responses', JSON.stringify({ input: 'x' })],
  ['/tokenize', prompt],
  ['/detokenize', JSON.stringify({ tokens: [1] })],
] as const

/** Types that a page may send without a preflight, and variants that a lax check accepts as JSON. */
const OTHER_TYPES = [
  'text/plain',
  'text/plain; application/json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=application/json',
  'application/jsonp',
  'application/json+evil',
  'text/json',
  '',
]
const FOREIGN_ORIGINS = [
  'https://evil.test',
  'http://evil.test',
  'null',
  'file://',
  'http://localhost.evil.test',
  'http://localhost@evil.test',
  `http://evil.test:${port}`,
  'chrome-extension://abc',
  '',
]
const FOREIGN_HOSTS = [
  'evil.test',
  `evil.test:${port}`,
  `127.0.0.1.nip.io:${port}`,
  'localhost.evil.test',
  'localhost@evil.test',
  'evil.test#localhost',
  'evil.test/localhost',
  '128.0.0.1',
  '0.0.0.0',
  '[::ffff:8.8.8.8]',
  '[fe80::1]',
  '127.0.0.1 evil.test',
  '..',
]

async function names(): Promise<string[]> {
  const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: ModelCard[] }
  return data.map(({ id }) => id)
}

test('rejects a body of another type than JSON on every route, without effect', async () => {
  const wrong: string[] = []
  for (const type of OTHER_TYPES)
    for (const [path, body] of COMMANDS) {
      const { status } = await send({ path, body, headers: type === '' ? {} : { 'content-type': type } })
      if (status !== 415) wrong.push(`${path} ${type}: ${status}`)
    }
  tally('bodies of other types', OTHER_TYPES.length * COMMANDS.length, wrong.length)
  expect(wrong).toEqual([])
  expect(await names()).toEqual(['base', 'wide', 'narrow'])
  const parameters = { 'content-type': 'Application/JSON; charset=utf-8' }
  expect((await send({ path: '/tokenize', body: prompt, headers: parameters })).status).toBe(400)
})

/** Promise T6.7: A web page of another origin cannot command the server. */
test('rejects a page of another origin on every route, without effect', async () => {
  const wrong: string[] = []
  for (const origin of FOREIGN_ORIGINS)
    for (const [path, body] of COMMANDS) {
      const { status, headers } = await send({ path, body, headers: { ...json, origin } })
      if (status !== 403 || headers['access-control-allow-origin'] !== undefined)
        wrong.push(`${path} ${origin}: ${status}`)
    }
  for (const path of ['/v1/models', '/metrics', '/version', '/nowhere'])
    if ((await send({ method: 'GET', path, headers: { origin: 'https://evil.test' } })).status !== 403)
      wrong.push(path)
  tally('pages of other origins', FOREIGN_ORIGINS.length * COMMANDS.length + 4, wrong.length)
  expect(wrong).toEqual([])
  expect(await names()).toEqual(['base', 'wide', 'narrow'])
  const own = await send({ path: '/v1/completions', body: prompt, headers: { ...json, origin: server.url } })
  expect(own.status).toBe(200)
})

/** Promise T6.7: A site whose name resolves to this machine cannot use the server. */
test('rejects a foreign host name that resolves to this machine, also with its own origin', async () => {
  const wrong: string[] = []
  for (const foreign of FOREIGN_HOSTS)
    for (const sent of [
      { method: 'GET', path: '/v1/models', headers: { host: foreign } },
      { path: '/v1/unload_lora_adapter', body: unload, headers: { ...json, host: foreign } },
      {
        path: '/v1/completions',
        body: prompt,
        headers: { ...json, host: foreign, origin: `http://${foreign}` },
      },
    ]) {
      const { status, text } = await send(sent)
      if (status !== 403 || text.includes('"wide"')) wrong.push(`${sent.path} ${foreign}: ${status}`)
    }
  tally('hosts of other names', 3 * FOREIGN_HOSTS.length, wrong.length)
  expect(wrong).toEqual([])
  for (const own of ['localhost', `LOCALHOST:${port}`, 'tune.localhost', '127.0.0.9:1', '[::1]:80'])
    expect((await send({ method: 'GET', path: '/v1/models', headers: { host: own } })).status, own).toBe(200)
})

test('an allowed origin may use the server, and its host name is accepted', async () => {
  const allowed = await openFixture({ allowedOrigins: ['https://app.example'] })
  const ask = (headers: Record<string, string>) =>
    fetch(`${allowed.url}/v1/models`, { headers }).then(({ status }) => status)
  expect(await ask({ origin: 'https://app.example' })).toBe(200)
  expect(await ask({ origin: 'https://evil.test' })).toBe(403)
  await allowed.close()
  const gate = createAccessControl({
    apiKeys: [],
    allowedOrigins: ['https://app.example'],
    address: '127.0.0.1',
    host: 'my-machine',
  })
  const check = (headers: Record<string, string>) => () =>
    gate.check({ method: 'GET', headers } as never, { setHeader: () => undefined } as never, '/v1/models')
  for (const name of ['app.example', 'my-machine', 'my-machine:8000', 'localhost'])
    expect(check({ host: name })(), name).toBe(false)
  expect(check({ host: 'evil.test' })).toThrow('Host "evil.test" is not allowed')
})

/** Promise T6.7: Over a network, changing adapters requires an API key. */
test('on a public address, changing adapters requires a key', async () => {
  const lines: string[] = []
  const open = await openFixture({ host: '0.0.0.0', log: line => lines.push(line) })
  const local = open.url.replace('0.0.0.0', '127.0.0.1')
  const post = (path: string, body: string, headers = {}) =>
    fetch(local + path, { method: 'POST', body, headers: { ...json, ...headers } })
  for (const [path, body] of COMMANDS.slice(0, 2)) {
    const reply = await post(path, body)
    expect([reply.status, await reply.text()]).toEqual([404, expect.stringContaining('--api-key')])
  }
  expect(lines.join('\n')).toContain('Loading and unloading adapters over HTTP is disabled')
  expect((await post('/v1/completions', prompt)).status).toBe(200)
  await open.close()
  const keyed = await openFixture({ host: '0.0.0.0', apiKeys: ['key'] })
  const reply = await fetch(keyed.url.replace('0.0.0.0', '127.0.0.1') + '/v1/unload_lora_adapter', {
    method: 'POST',
    body: unload,
    headers: { ...json, authorization: 'Bearer key' },
  })
  expect(reply.status).toBe(200)
  await keyed.close()
})

test('the list of models contains names and no paths', async () => {
  const text = await (await fetch(`${server.url}/v1/models`)).text()
  expect(text).not.toContain(server.directory)
  const { data } = JSON.parse(text) as { data: ModelCard[] }
  expect(data.map(({ id, root }) => [id, root])).toEqual([
    ['base', 'base'],
    ['wide', 'wide'],
    ['narrow', 'narrow'],
  ])
})

test('an adapter path that cannot be opened gets the same answer, whatever exists there', async () => {
  const probes = [
    '/etc/passwd',
    '/etc/shadow',
    '/root',
    '/nowhere',
    '/proc/self/mem',
    '/dev/zero',
    `/${'x'.repeat(4000)}`,
    '/etc/pass\0wd',
    '../../../etc/passwd',
    server.directory,
  ]
  const answers = new Set<string>()
  for (const path of probes) {
    const reply = await server.post('/v1/load_lora_adapter', { lora_name: 'probe', lora_path: path })
    const text = JSON.stringify(reply).replaceAll(JSON.stringify(path).slice(1, -1), 'PATH')
    answers.add(text.replace(/failed: .*adapter_config\.json/, 'failed: FILE'))
  }
  tally('paths of adapters', probes.length, answers.size - 1)
  expect([...answers]).toEqual([expect.stringContaining('"status":404')])
})
