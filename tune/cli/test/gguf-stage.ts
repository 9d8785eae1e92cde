/** A model of a test, its GGUF files, and what a server answers with either. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from '@cairn-tune/serve'
import { readConfig, train } from '@cairn-tune/train'
import { exportRun } from '../src/commands/export.ts'

/** A folder of its own for one file of tests. */
export async function makeStage(name: string) {
  const directory = await mkdtemp(join(tmpdir(), `cairn-${name}-`))
  const at = (file: string): string => join(directory, file)
  const exportTo = (output: string, ...args: string[]) =>
    exportRun.run([...args, '--format', 'gguf', '--output', at(output)], {
      env: { HF_HUB_OFFLINE: '1' },
      out: () => undefined,
      note: () => undefined,
      terminal: undefined,
      signal: new AbortController().signal,
    })
  return {
    at,
    exportTo,
    /** One step with adapters of all projections; their folder. */
    async trainOn(model: string, settings: Readonly<Record<string, string>> = {}): Promise<string> {
      await writeFile(at('data.jsonl'), '{"text": "one and one is two"}\n'.repeat(8))
      const all = {
        model: at(model),
        dataset: at('data.jsonl'),
        output_dir: at('run'),
        max_seq_length: 32,
        max_steps: 1,
        lora_rank: 4,
        learning_rate: 1e-2,
        ...settings,
      }
      const flags = Object.entries(all).map(([key, value]) => `--${key}=${value}`)
      await train(readConfig({ flags }), { threads: 1 })
      return at('run/adapter')
    },
    answer: (model: string): Promise<unknown> => answer(at(model)),
    remove: () => rm(directory, { recursive: true }),
  }
}

async function answer(model: string): Promise<unknown> {
  const server = await startServer({
    model,
    servedModelNames: ['m'],
    port: 0,
    threads: 1,
    dtype: 'f32',
    kvCacheBytes: 2 ** 22,
    maxModelLen: 64,
  })
  try {
    const response = await fetch(`${server.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', prompt: 'one and', max_tokens: 12, temperature: 0, logprobs: 1 }),
    })
    return ((await response.json()) as { choices: unknown }).choices
  } finally {
    await server.close()
  }
}
