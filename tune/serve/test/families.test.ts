/** Each family's greedy answers against transformers, alone and in one batch, with its own adapter. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FAMILY_NAMES, parseModelConfig, partsOf } from '@cairn-tune/models'
import { startServer, type RunningServer } from '@cairn-tune/serve'
import type { Completion } from '@cairn-tune/serve/protocol'
import { createRandom, mergeAdapter, writeAdapter } from '@cairn-tune/train'
import { linearsOf } from '@cairn-tune/weights'
import { readGolden, writeGoldenModel } from './golden-model.ts'

const directory = mkdtempSync(join(tmpdir(), 'cairn-families-'))
afterAll(() => rmSync(directory, { recursive: true }))

async function writeRandomAdapter(path: string, config: Record<string, unknown>): Promise<void> {
  const { next } = createRandom(5)
  const { projections, modules } = partsOf(parseModelConfig('config.json', config))
  // An adapter cannot be merged into experts in MXFP4.
  const changed = projections.filter(
    ({ experts }) => config['model_type'] !== 'gpt_oss' || experts === undefined,
  )
  const matrix = (rows: number, columns: number) => ({
    shape: [rows, columns] as const,
    values: Float32Array.from({ length: rows * columns }, () => next() - 0.5),
  })
  await writeAdapter(
    path,
    { baseModel: '', lora_rank: 3, lora_alpha: 3, lora_dropout: 0, lora_target_modules: modules },
    changed.flatMap(projection =>
      linearsOf(projection).flatMap(name => [
        { name: `${name}.lora_A.weight`, ...matrix(3, projection.inputs) },
        { name: `${name}.lora_B.weight`, ...matrix(projection.outputs, 3) },
      ]),
    ),
  )
}

const serve = (model: string, adapter?: string) =>
  startServer({
    model,
    servedModelNames: ['base'],
    port: 0,
    threads: 1,
    dtype: 'f32',
    maxModelLen: 40,
    kvCacheBytes: 4 * 2 ** 20,
    ...(adapter ? { enableLora: true, maxLoraRank: 4, loraModules: { own: adapter } } : {}),
  })

async function complete(server: RunningServer, model: string, prompt: number[]): Promise<number[]> {
  const response = await fetch(`${server.url}/v1/completions`, {
    method: 'POST',
    body: JSON.stringify({
      model,
      prompt,
      max_tokens: 16,
      temperature: 0,
      ignore_eos: true,
      return_token_ids: true,
    }),
    headers: { 'content-type': 'application/json' },
  })
  const reply = (await response.json()) as Completion
  expect(response.status, JSON.stringify(reply)).toBe(200)
  return reply.choices[0]?.token_ids ?? []
}

describe.each(FAMILY_NAMES)('%s', name => {
  const { config, greedy } = readGolden(name)
  const [model, adapter, merged] = ['', '-adapter', '-merged'].map(kind => join(directory, name + kind)) as [
    string,
    string,
    string,
  ]
  let server: RunningServer
  beforeAll(async () => {
    await writeGoldenModel(name, model)
    await writeRandomAdapter(adapter, config)
    server = await serve(model, adapter)
  })
  afterAll(() => server.close())

  /** Promise T6: Each family's greedy tokens equal those of transformers. */
  test('greedy tokens match transformers, one prompt at a time', async () => {
    for (const [i, prompt] of greedy.prompts.entries())
      expect(await complete(server, 'base', prompt), `prompt ${i}`).toEqual(greedy.answers[i])
  })

  /** Promise T4, T6: An adapter of any family answers like its merged model. */
  test('in one batch the base matches transformers and the adapter its merged model', async () => {
    await mergeAdapter({ base: model, adapter, output: merged })
    const alone = await serve(merged)
    try {
      const answers = await Promise.all(greedy.prompts.map(prompt => complete(alone, 'base', prompt)))
      expect(answers).not.toEqual(greedy.answers)
      const both = greedy.prompts.flatMap(prompt =>
        (['base', 'own'] as const).map(of => complete(server, of, prompt)),
      )
      expect(await Promise.all(both)).toEqual(answers.flatMap((own, i) => [greedy.answers[i], own]))
    } finally {
      await alone.close()
    }
  })
})
