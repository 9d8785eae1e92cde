/** Fused expert adapters from PEFT (reference/make_fused.py): served and merged. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { startServer } from '@cairn-tune/serve'
import type { Completion } from '@cairn-tune/serve/protocol'
import { mergeAdapter } from '@cairn-tune/train'
import { readGolden, writeGoldenModel } from './golden-model.ts'

const directory = mkdtempSync(join(tmpdir(), 'cairn-fused-'))
afterAll(() => rmSync(directory, { recursive: true }))

const fused = (name: string) => fileURLToPath(new URL(`reference/fused/${name}`, import.meta.url))

async function answers(
  model: string,
  of: string,
  prompts: number[][],
  adapter?: string,
): Promise<number[][]> {
  const server = await startServer({
    model,
    servedModelNames: ['base'],
    port: 0,
    threads: 1,
    dtype: 'f32',
    maxModelLen: 40,
    kvCacheBytes: 4 * 2 ** 20,
    ...(adapter ? { enableLora: true, maxLoraRank: 4, loraModules: { own: adapter } } : {}),
  })
  try {
    return await Promise.all(
      prompts.map(async prompt => {
        const body = { model: of, prompt, max_tokens: 16, temperature: 0, ignore_eos: true }
        const response = await fetch(`${server.url}/v1/completions`, {
          method: 'POST',
          body: JSON.stringify({ ...body, return_token_ids: true }),
          headers: { 'content-type': 'application/json' },
        })
        const reply = (await response.json()) as Completion
        expect(response.status, JSON.stringify(reply)).toBe(200)
        return reply.choices[0]?.token_ids ?? []
      }),
    )
  } finally {
    await server.close()
  }
}

/** Promise T4, T6: PEFT adapters of fused experts answer as in PEFT, alone and merged. */
test.each(['qwen3_moe', 'gpt_oss'])('%s: greedy tokens with a fused adapter match PEFT', async name => {
  const model = join(directory, name)
  await writeGoldenModel(name, model)
  const { prompts } = readGolden(name).greedy
  const golden = JSON.parse(readFileSync(join(fused(name), 'greedy.json'), 'utf8')) as {
    answers: number[][]
  }
  expect(await answers(model, 'own', prompts, fused(name))).toEqual(golden.answers)
  if (name === 'gpt_oss') return
  const merged = join(directory, 'merged')
  await mergeAdapter({ base: model, adapter: fused(name), output: merged })
  expect(await answers(merged, 'base', prompts)).toEqual(golden.answers)
})

test('rejects a fused adapter for another number of experts', async () => {
  const model = join(directory, 'gpt')
  await writeGoldenModel('gpt_oss', model)
  const start = (adapter: string) => answers(model, 'own', [], adapter)
  await expect(start(fused('qwen3_moe'))).rejects.toThrow(/trained on another base|does not have/)
})
