/** Server features beside answers: API keys, origins, tokenizing, metrics, limits. */
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { encodeFloats } from '@cairn-tune/weights'
import { openFixture } from './server-fixture.ts'
import { writeRandomAdapter } from './random-model.ts'

const server = await openFixture({
  maxLoras: 1,
  maxCpuLoras: 3,
  apiKeys: ['one', 'two'],
  allowedOrigins: ['https://app.example'],
  chatTemplate: '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}',
})
afterAll(() => server.close())

const send = (path: string, init: RequestInit & { key?: string } = {}) =>
  fetch(server.url + path, {
    ...init,
    headers: { authorization: `Bearer ${init.key ?? 'two'}`, ...(init.headers as Record<string, string>) },
  })
const post = async (path: string, body: object) => {
  const headers = { 'content-type': 'application/json' }
  const response = await send(path, { method: 'POST', body: JSON.stringify(body), headers })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  return { status: response.status, body: (isJson ? JSON.parse(text) : text) as never }
}

/** Promise T6.1: With an API key set, only the health routes answer without it. */
test('every route except the health and version routes requires an API key', async () => {
  for (const path of ['/v1/models', '/metrics', '/nowhere'])
    expect((await send(path, { key: 'three' })).status).toBe(401)
  expect((await fetch(`${server.url}/v1/models`)).status).toBe(401)
  expect((await send('/v1/models', { key: 'one' })).status).toBe(200)
  for (const path of ['/health', '/ping', '/version'])
    expect((await fetch(server.url + path)).status).toBe(200)
  expect(await (await send('/version')).json()).toEqual({ version: expect.any(String) })
})

test('only pages of an allowed origin may read answers', async () => {
  const preflight = (origin: string) =>
    fetch(`${server.url}/v1/models`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    })
  const allowed = await preflight('https://app.example')
  expect(allowed.status).toBe(204)
  expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example')
  expect(allowed.headers.get('access-control-allow-headers')).toContain('authorization')
  expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
  const read = await send('/v1/models', { headers: { origin: 'https://app.example' } })
  expect(read.headers.get('access-control-allow-origin')).toBe('https://app.example')
})

test('tokenizes prompts and detokenizes tokens with the given template', async () => {
  const plain = await post('/tokenize', { prompt: 'Ană', return_token_strs: true })
  expect(plain.body).toMatchObject({
    count: 4,
    max_model_len: 256,
    token_strs: ['A', 'n', '\ufffd', '\ufffd'],
  })
  const { tokens } = plain.body as { tokens: number[] }
  expect((await post('/detokenize', { tokens })).body).toEqual({ prompt: 'Ană' })
  const asked = (await post('/tokenize', { messages: [{ role: 'user', content: 'Hi' }] })).body as {
    tokens: number[]
  }
  expect((await post('/detokenize', { tokens: asked.tokens })).body).toEqual({ prompt: '<user>Hi' })
  expect((await post('/tokenize', {})).status).toBe(400)
  expect((await post('/detokenize', { tokens: [999_999] })).status).toBe(400)
})

test('exports latencies as histograms with the names of vLLM', async () => {
  await post('/v1/completions', { prompt: 'a', max_tokens: 5, ignore_eos: true })
  const text = await (await send('/metrics')).text()
  const count = (name: string) => Number(new RegExp(`^vllm:${name}\\{[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1])
  expect(text).toContain('# TYPE vllm:time_to_first_token_seconds histogram')
  expect(text).toMatch(/^vllm:time_to_first_token_seconds_bucket\{le="\+Inf",model_name="base"\} [1-9]\d*$/m)
  expect(count('time_to_first_token_seconds_count')).toBeGreaterThanOrEqual(1)
  expect(count('inter_token_latency_seconds_count')).toBeGreaterThanOrEqual(4)
  expect(count('time_to_first_token_seconds_sum')).toBeGreaterThan(0)
  expect(count('generation_tokens_total')).toBeGreaterThanOrEqual(5)
  expect(text).toMatch(/^vllm:num_requests_running\{model_name="base"\} 0$/m)
})

test('rejects a body by its content-length before any of it arrives', async () => {
  const { port, hostname } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  socket.write(
    'POST /v1/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer one\r\n' +
      'content-type: application/json\r\ncontent-length: 99999999999\r\n\r\n',
  )
  const chunks: Buffer[] = []
  for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk)
  expect(Buffer.concat(chunks).toString()).toMatch(
    /^HTTP\/1\.1 413 [\s\S]*The body is larger than the maximum of \d+ bytes/,
  )
})

/** Promise T6.5: More adapters than slots answer as they do alone. */
test('more adapters than slots answer as they do alone, concurrently and in turn', async () => {
  await writeRandomAdapter(join(server.directory, 'third'), { rank: 4, modules: ['v_proj'], seed: 9 })
  const loaded = await post('/v1/load_lora_adapter', {
    lora_name: 'third',
    lora_path: join(server.directory, 'third'),
  })
  expect(loaded.status).toBe(200)
  const names = ['wide', 'narrow', 'third', 'base']
  const ask = async (model: string) => {
    const { status, body } = await post('/v1/completions', {
      model,
      prompt: 'Ana are mere',
      max_tokens: 24,
      temperature: 0,
      ignore_eos: true,
    })
    expect(status).toBe(200)
    return (body as { choices: { text: string }[] }).choices[0]?.text
  }
  const alone: (string | undefined)[] = []
  for (const name of names) alone.push(await ask(name))
  expect(new Set(alone).size).toBe(4)
  const crowd = Array.from({ length: 32 }, (_, i) => i % 4)
  expect(await Promise.all(crowd.map(i => ask(names[i] ?? '')))).toEqual(crowd.map(i => alone[i]))
})

test('unloading an adapter ends its queued requests and no others', async () => {
  const ask = (model: string) =>
    post('/v1/completions', { model, prompt: 'Ana', max_tokens: 200, ignore_eos: true })
  const [first, second] = [ask('wide'), ask('narrow')]
  const unloaded = post('/v1/unload_lora_adapter', { lora_name: 'narrow' })
  expect((await unloaded).status).toBe(200)
  // It ended with 404, or was answered before the adapter was unloaded.
  expect([200, 404]).toContain((await second).status)
  expect((await first).status).toBe(200)
  expect((await ask('narrow')).status).toBe(404)
  expect(
    (
      await post('/v1/load_lora_adapter', {
        lora_name: 'narrow',
        lora_path: join(server.directory, 'narrow'),
      })
    ).status,
  ).toBe(200)
  const full = await post('/v1/load_lora_adapter', {
    lora_name: 'x',
    lora_path: join(server.directory, 'wide'),
  })
  expect(full).toMatchObject({ status: 400 })
  expect(JSON.stringify(full.body)).toContain(
    '3 adapters are in memory (wide, third, narrow), which is the maximum; unload one',
  )
})

test('rejects an adapter with a non-finite number by the name of the matrix', async () => {
  const path = join(server.directory, 'third')
  const file = join(path, 'adapter_model.safetensors')
  const bytes = readFileSync(file)
  bytes.set(encodeFloats('F32', Float32Array.of(NaN)), bytes.byteLength - 4)
  writeFileSync(file, bytes)
  expect((await post('/v1/unload_lora_adapter', { lora_name: 'third' })).status).toBe(200)
  const { status, body } = await post('/v1/load_lora_adapter', { lora_name: 'third', lora_path: path })
  expect(status).toBe(400)
  expect(JSON.stringify(body)).toMatch(/lora_[AB]\.weight.* contains a non-finite number/)
})
