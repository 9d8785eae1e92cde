/** A server over the random model, in a directory of its own, closed and removed with the test file. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer, type RunningServer, type ServeOptions } from '@cairn-tune/serve'
import { ADAPTERS, writeRandomAdapter, writeRandomModel } from './random-model.ts'

export type Fixture = RunningServer & {
  directory: string
  post: (path: string, body: unknown) => Promise<{ status: number; body: never }>
}

export async function openFixture(
  options: Partial<ServeOptions> = {},
  files: Record<string, string> = {},
): Promise<Fixture> {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-serve-'))
  await writeRandomModel(join(directory, 'base'), 1, files)
  for (const [name, adapter] of Object.entries(ADAPTERS))
    await writeRandomAdapter(join(directory, name), adapter)
  const server = await startServer({
    model: join(directory, 'base'),
    servedModelNames: ['base'],
    port: 0,
    threads: 1,
    dtype: 'f32',
    maxModelLen: 256,
    enableLora: true,
    maxLoraRank: 16,
    kvCacheBytes: 16 * 2 ** 20,
    loraModules: { wide: join(directory, 'wide'), narrow: join(directory, 'narrow') },
    env: { VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True' },
    ...options,
  })
  return {
    url: server.url,
    directory,
    async post(path, body) {
      const response = await fetch(server.url + path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      })
      const text = await response.text()
      return {
        status: response.status,
        body: (response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text) as never,
      }
    },
    async close() {
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
