/**
 * Adapters are loaded and unloaded while others are served; invalid ones are rejected with the error messages
 * of vLLM.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, expect, test } from 'vitest'
import { RUN_ALL } from '@cairn-tune/ops/test/sample'
import type { Completion, ModelCard } from '@cairn-tune/serve/protocol'
import { openFixture } from './server-fixture.ts'
import { ADAPTERS, writeRandomAdapter } from './random-model.ts'

const server = await openFixture({ maxLoras: 3, maxCpuLoras: 3 })
afterAll(() => server.close())

const load = (lora_name?: string, lora_path?: string) =>
  server.post('/v1/load_lora_adapter', { lora_name, lora_path })
const unload = (lora_name?: string) => server.post('/v1/unload_lora_adapter', { lora_name })
const ask = (model: string, extra: object = {}) =>
  server.post('/v1/completions', {
    model,
    prompt: 'Ana are',
    max_tokens: 4,
    temperature: 0,
    ignore_eos: true,
    return_token_ids: true,
    ...extra,
  })
const tokens = (reply: { body: never }) => (reply.body as Completion).choices[0]?.token_ids

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/**
 * Bytes: the JavaScript heap after garbage collection, including buffers, and the resident memory of the
 * process, including pages that the allocator keeps. Buffers of sockets and of native code are freed in turns
 * of the event loop after the collection that found them unused, so this collects until the size no longer
 * falls.
 */
async function memoryInUse(): Promise<{ held: number; resident: number }> {
  let minimum = Infinity
  for (let sinceMinimum = 0; sinceMinimum < 5; sinceMinimum++) {
    collectGarbage()
    await turnOfTheLoop()
    const { heapUsed, external } = process.memoryUsage()
    if (heapUsed + external < minimum - 1024) [minimum, sinceMinimum] = [heapUsed + external, 0]
  }
  return { held: minimum, resident: process.memoryUsage().rss }
}

/** Promise T6.1: Adapters load and unload through vLLM's routes. */
test('loads, lists and unloads an adapter with the messages of vLLM', async () => {
  expect(await load('again', join(server.directory, 'wide'))).toEqual({
    status: 200,
    body: "Success: LoRA adapter 'again' added successfully.",
  })
  expect(tokens(await ask('again'))).toEqual(tokens(await ask('wide')))
  const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: ModelCard[] }
  expect(data.map(({ id, parent }) => [id, parent])).toEqual([
    ['base', null],
    ['wide', 'base'],
    ['narrow', 'base'],
    ['again', 'base'],
  ])
  expect(await load('again', join(server.directory, 'wide'))).toMatchObject({
    status: 400,
    body: {
      error: { type: 'InvalidUserInput', message: "The lora adapter 'again' has already been loaded." },
    },
  })
  expect(await load('one more', join(server.directory, 'wide'))).toMatchObject({
    status: 400,
    body: {
      error: {
        message: expect.stringContaining(
          '3 adapters are in memory (wide, narrow, again), which is the maximum; unload one',
        ),
      },
    },
  })
  expect(await unload('again')).toEqual({
    status: 200,
    body: "Success: LoRA adapter 'again' removed successfully.",
  })
  expect(await ask('again')).toMatchObject({
    status: 404,
    body: {
      error: {
        message: 'The model `again` does not exist.',
        type: 'NotFoundError',
        param: 'model',
        code: 404,
      },
    },
  })
  expect(await unload('again')).toMatchObject({
    status: 404,
    body: { error: { type: 'NotFoundError', message: "The lora adapter 'again' cannot be found." } },
  })
})

test('rejects an adapter that cannot be served and keeps its name free', async () => {
  await writeRandomAdapter(join(server.directory, 'large'), { ...ADAPTERS.narrow, rank: 17 })
  await writeRandomAdapter(join(server.directory, 'foreign'), { ...ADAPTERS.narrow, shape: 'small' })
  await mkdir(join(server.directory, 'broken'))
  await writeFile(join(server.directory, 'broken', 'adapter_config.json'), '{')
  const refused = async (path: string) => {
    const { status, body } = await load('x', join(server.directory, path))
    return [status, (body as { error: { message: string } }).error.message]
  }
  expect(await refused('large')).toEqual([
    400,
    'Loading lora x failed: LoRA rank 17 is greater than max_lora_rank 16.',
  ])
  expect(await refused('foreign')).toEqual([
    400,
    expect.stringMatching(/trained on another base|does not have/),
  ])
  expect(await refused('broken')).toEqual([400, expect.stringContaining('not JSON')])
  expect(await refused('nowhere')).toEqual([404, expect.stringContaining('No adapter found for')])
  expect(await load('x')).toMatchObject({
    status: 400,
    body: { error: { message: "Both 'lora_name' and 'lora_path' must be provided." } },
  })
  expect(await load('base', join(server.directory, 'wide'))).toMatchObject({ status: 400 })
  expect((await load('x', join(server.directory, 'wide'))).status).toBe(200)
  expect((await unload('x')).status).toBe(200)
})

test("an adapter's own chat template renders its conversations, with the base's tokenizer", async () => {
  const path = join(server.directory, 'templated')
  await writeRandomAdapter(path, ADAPTERS.narrow)
  await writeFile(join(path, 'chat_template.jinja'), '{% for m in messages %}<{{ m.content }}>{% endfor %}')
  expect((await load('templated', path)).status).toBe(200)
  const promptOf = async (model: string) => {
    const asked = await server.post('/tokenize', { model, messages: [{ role: 'user', content: 'Hi' }] })
    const { tokens: ids } = asked.body as { tokens: number[] }
    return (await server.post('/detokenize', { model, tokens: ids })).body
  }
  expect(await promptOf('templated')).toEqual({ prompt: '<Hi>' })
  expect(await promptOf('narrow')).toEqual(await promptOf('base'))
  expect(tokens(await ask('templated'))).toEqual(tokens(await ask('narrow')))
  await unload('templated')
  await writeFile(join(path, 'chat_template.jinja'), '{% for %}')
  expect(await load('templated', path)).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('invalid chat template') } },
  })
})

/**
 * Promise T6.5: No answer comes from another adapter, and unloading an adapter fails only its own requests.
 */
test('fifty clients get answers of their own adapter while another is loaded and unloaded', async () => {
  const expected = {
    base: tokens(await ask('base')),
    wide: tokens(await ask('wide')),
    narrow: tokens(await ask('narrow')),
  }
  const served = { steady: 0, guest: 0, refused: 0 }
  const client = async (i: number, done: AbortSignal) => {
    while (!done.aborted) {
      const model = (['base', 'wide', 'narrow', 'guest'] as const)[i % 4] ?? 'base'
      const reply = await ask(model)
      if (model !== 'guest') {
        expect(reply.status).toBe(200)
        expect(tokens(reply)).toEqual(expected[model])
        served.steady++
      } else if (reply.status === 200) {
        // The guest is alternately one of two adapters, never a mixture and never the base.
        expect([expected.wide, expected.narrow]).toContainEqual(tokens(reply))
        served.guest++
      } else {
        expect(reply.status).toBe(404)
        served.refused++
      }
    }
  }
  const visits = async (rounds: number) => {
    const done = new AbortController()
    const clients = Array.from({ length: 50 }, (_, i) => client(i, done.signal))
    try {
      for (let i = 0; i < rounds; i++) {
        const name = i % 2 === 0 ? 'wide' : 'narrow'
        expect((await load('guest', join(server.directory, name))).status).toBe(200)
        // Right after loading and right before unloading, the answer is of this adapter.
        expect(tokens(await ask('guest', { max_tokens: 2 }))).toEqual(expected[name]?.slice(0, 2))
        expect((await unload('guest')).status).toBe(200)
      }
    } finally {
      done.abort()
    }
    await Promise.all(clients)
    return memoryInUse()
  }
  // The first rounds compile and warm up; both measurements are taken without clients.
  const early = await visits(8)
  const late = await visits(RUN_ALL ? 40 : 20)
  expect(served.steady).toBeGreaterThan(75)
  expect(served.guest).toBeGreaterThan(0)
  expect(served.refused).toBeGreaterThan(0)
  // A wide guest is 180 kilobytes: twenty leaked ones would be more than three megabytes.
  expect(late.held - early.held).toBeLessThan(2 * 2 ** 20)
  // Resident pages vary with the allocator and the collector; this bound only detects large leaks.
  expect(late.resident - early.resident).toBeLessThan(256 * 2 ** 20)
}, 600_000)

/** Promise T6.1: Without the environment variable the adapter routes do not exist. */
test('without the environment variable the two routes return 404', async () => {
  const closed = await openFixture({ env: {} })
  expect((await closed.post('/v1/load_lora_adapter', { lora_name: 'x', lora_path: 'y' })).status).toBe(404)
  expect((await closed.post('/v1/unload_lora_adapter', { lora_name: 'wide' })).status).toBe(404)
  expect((await closed.post('/v1/completions', { model: 'wide', prompt: 'x', max_tokens: 1 })).status).toBe(
    200,
  )
  await closed.close()
})
