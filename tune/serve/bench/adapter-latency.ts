/**
 * Time to the first token of an adapter: loaded over HTTP while other sequences run, by clients of the same
 * process.
 */
import { Agent, request } from 'node:http'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { partsOf, readModelConfig } from '@cairn-tune/models'
import { writeAdapter, type AdapterTensor } from '@cairn-tune/weights'
import { createRandom } from '@cairn-tune/train'
import { startServer, type ServeOptions } from '@cairn-tune/serve'

/**
 * Milliseconds: from the adapter's request to its first token, to the reply that it is loaded, and of one
 * token of the base.
 */
export type AdapterLatency = { total: number[]; loading: number[]; base: number[] }

const RANK = 16
const RUNNING = 50
const ANSWER = 500
/** Rounds that record programs and fill caches. */
const WARM_UP = 20

/** Writes an adapter of all linears with small random numbers. */
async function writeRandomAdapter(model: string, directory: string): Promise<void> {
  const { next } = createRandom(2)
  const { projections, modules } = partsOf(await readModelConfig(model))
  const tensors = projections.flatMap(({ name, inputs, outputs }): AdapterTensor[] =>
    (
      [
        ['A', [RANK, inputs]],
        ['B', [outputs, RANK]],
      ] as const
    ).map(([side, sizes]) => ({
      name: `${name}.lora_${side}.weight`,
      shape: [sizes[0], sizes[1]],
      values: Float32Array.from({ length: sizes[0] * sizes[1] }, () => 0.02 * (next() - 0.5)),
    })),
  )
  await mkdir(directory)
  await writeAdapter(
    directory,
    {
      baseModel: model,
      lora_rank: RANK,
      lora_alpha: 32,
      lora_dropout: 0,
      lora_target_modules: modules,
    },
    tensors,
    'BF16',
  )
}

/** A client with persistent connections, like the OpenAI library's. */
function createClient(url: string) {
  const agent = new Agent({ keepAlive: true })
  return {
    post: (path: string, body: object) =>
      new Promise<string>((resolve, reject) => {
        const text = JSON.stringify(body)
        const sent = request(
          url + path,
          {
            method: 'POST',
            agent,
            headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
          },
          response => {
            let reply = ''
            response
              .setEncoding('utf8')
              .on('data', (part: string) => (reply += part))
              .on('end', () => (response.statusCode === 200 ? resolve(reply) : reject(new Error(reply))))
              .on('error', reject)
          },
        )
        sent.on('error', reject).end(text)
      }),
    close: () => agent.destroy(),
  }
}

/** Milliseconds that something takes. */
async function time(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await act()
  return performance.now() - start
}

export async function measureAdapters(
  options: ServeOptions,
  work: string,
  rounds: number,
): Promise<AdapterLatency> {
  const path = join(work, 'adapter')
  await writeRandomAdapter(options.model, path)
  const server = await startServer({
    ...options,
    enableLora: true,
    maxLoras: 4,
    env: { ...process.env, VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True' },
  })
  const client = createClient(server.url)
  const complete = (model: string, tokens: number) =>
    client.post('/v1/completions', {
      model,
      prompt: 'x',
      max_tokens: tokens,
      temperature: 0,
      ignore_eos: true,
    })
  const done = new AbortController()
  // Their first answers differ in length, so that later ones do not all end in one step.
  const running = Array.from({ length: RUNNING }, async (_, i) => {
    await complete('base', (ANSWER * (i + 1)) / RUNNING)
    while (!done.signal.aborted) await complete('base', ANSWER)
  })
  const times: AdapterLatency = { total: [], loading: [], base: [] }
  for (let i = 0; i < rounds + WARM_UP; i++) {
    const loading = await time(() =>
      client.post('/v1/load_lora_adapter', { lora_name: 'new', lora_path: path }),
    )
    const first = await time(() => complete('new', 1))
    await client.post('/v1/unload_lora_adapter', { lora_name: 'new' })
    if (i < WARM_UP) continue
    times.total.push(loading + first)
    times.loading.push(loading)
  }
  // Measured separately, so that they take none of the adapters' time for new requests' steps.
  for (let i = 0; i < rounds; i++) times.base.push(await time(() => complete('base', 1)))
  done.abort()
  await Promise.all(running)
  client.close()
  await server.close()
  return times
}
