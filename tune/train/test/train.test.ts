import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import {
  DivergedError,
  OutOfMemoryError,
  estimate,
  mergeAdapter,
  readAdapter,
  writeNewModel,
} from '@cairn-tune/train'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
const dataset = bench.writeTexts('texts', textsOf(32, 8))
const settings = { dataset, gradient_accumulation_steps: 2, max_steps: 12, threads: 2, learning_rate: 0.01 }
const json = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>

test('a run learns and writes an adapter, metrics, its record and a chart', async () => {
  const config = bench.config(settings)
  const result = await bench.run({ ...settings, output_dir: config.output_dir })
  expect(losses(result).at(-1)).toBeLessThan(0.9 * (losses(result)[0] ?? 0))
  expect(readdirSync(config.output_dir).toSorted()).toEqual([
    '.run.lock',
    'adapter',
    'checkpoints',
    'loss.svg',
    'metrics.jsonl',
    'run.json',
  ])
  const lines = readFileSync(join(config.output_dir, 'metrics.jsonl'), 'utf8').trim().split('\n')
  expect(lines.map(line => JSON.parse(line) as unknown)).toEqual(result.metrics)
  expect(json(join(config.output_dir, 'run.json'))).toMatchObject({
    status: 'finished',
    steps: 12,
    config: { recipe: 'bf16', lora_rank: 16, seed: 42 },
    versions: { node: process.version },
    dataset: { documents: 8, rows: 4 },
  })
})

test('the adapter reads back, and the merged model starts at the loss where training ended', async () => {
  const constant = { ...settings, lr_scheduler_type: 'constant', max_steps: 6 }
  const result = await bench.run(constant)
  const adapter = await readAdapter(result.output)
  expect(adapter).toMatchObject({ baseModel: bench.model, lora_rank: 16, lora_alpha: 32 })
  expect(adapter.scaleOf('model.layers.0.mlp.up_proj')).toBe(2)
  expect(adapter.tensors).toHaveLength(2 * 7 * 2)
  const output = join(bench.directory, 'merged')
  await mergeAdapter({ base: bench.model, adapter: result.output, output })
  const [merged, more] = [
    await bench.run({ ...constant, model: output, max_steps: 1 }),
    await bench.run({ ...constant, max_steps: 7 }),
  ]
  // The merged weights are rounded to bf16; the adapter is not.
  expect(losses(merged)[0]).toBeCloseTo(losses(more)[6] ?? NaN, 1)
  expect(losses(merged)[0]).toBeLessThan((losses(more)[0] ?? 0) - 0.2)
})

test('a model trained in full learns and can start another training', async () => {
  const full = await bench.run({ ...settings, lora: false, lr_scheduler_type: 'constant' })
  expect(losses(full).at(-1)).toBeLessThan(0.7 * (losses(full)[0] ?? 0))
  const again = await bench.run({ ...settings, model: full.output, max_steps: 1 })
  expect(losses(again)[0]).toBeLessThan(losses(full).at(-1) ?? 0)
})

const recipes: { recipe: string; matmul?: string; name: string }[] = [
  ...['fp8', 'fp4', 'qfp8', 'qfp4', 'qbnb'].map(recipe => ({ recipe, name: recipe })),
  ...['qfp8', 'qbnb'].map(recipe => ({ recipe, matmul: 'fp8-hybrid', name: `${recipe} with fp8-hybrid` })),
]

test.each(recipes)('in $name the loss falls like in bf16, within 5 %', async ({ recipe, matmul }) => {
  const [plain, stored] = [await bench.run(settings), await bench.run({ ...settings, recipe, matmul })]
  losses(stored).forEach((loss, i) =>
    expect(Math.abs(loss / (losses(plain)[i] ?? NaN) - 1)).toBeLessThan(0.05),
  )
  expect(stored.memory.weights).toBeLessThan(plain.memory.weights)
  expect(losses(stored)).not.toEqual(losses(plain))
})

test('8-bit optimizer states train like f32 within 2 %, in about a quarter of the memory', async () => {
  const [full, small] = [await bench.run(settings), await bench.run({ ...settings, optimizer: 'adamw_8bit' })]
  losses(small).forEach((loss, i) => expect(Math.abs(loss / (losses(full)[i] ?? NaN) - 1)).toBeLessThan(0.02))
  expect(losses(small)).not.toEqual(losses(full))
  expect(small.memory.optimizer / full.memory.optimizer).toBeLessThan(0.27)
})

test('skipping all layers gives the bits of bf16', async () => {
  const [plain, skipped] = [
    await bench.run({ ...settings, max_steps: 2 }),
    await bench.run({
      ...settings,
      max_steps: 2,
      recipe: 'qbnb',
      skip_quant_first_layers: 1,
      skip_quant_last_layers: 1,
    }),
  ]
  expect(losses(skipped)).toEqual(losses(plain))
})

test('a non-finite loss stops the run and saves the last complete step', async () => {
  const output_dir = join(bench.directory, 'diverged')
  const run = bench.run({
    ...settings,
    output_dir,
    learning_rate: 1e38,
    lr_scheduler_type: 'constant',
    compute_dtype: 'f32',
  })
  await expect(run).rejects.toThrow(DivergedError)
  await expect(run).rejects.toThrow(/step 2: the loss is (NaN|-?Infinity).*Lower learning_rate/s)
  expect(readdirSync(join(output_dir, 'checkpoints'))).toEqual(['step-00000001'])
  expect(existsSync(join(output_dir, 'adapter'))).toBe(false)
})

/** Promise T4: A run that does not fit in memory is refused with its size before anything is written. */
test('rejects a run that does not fit with its size before anything is written', async () => {
  const output_dir = join(bench.directory, 'too-large')
  const run = bench.run({ ...settings, output_dir, memory_limit: '20MB' })
  await expect(run).rejects.toThrow(OutOfMemoryError)
  await expect(run).rejects.toThrow(
    /OOM: this run needs [\d.]+ [MG]iB even with everything recomputed but may use only 19 MiB/,
  )
  expect(existsSync(output_dir)).toBe(false)
})

test('estimate reports the memory without running, and recomputation lowers it', async () => {
  const roomy = await estimate(bench.config(settings))
  expect(roomy.recomputed).toBe('nothing')
  expect(roomy.memory.total).toBe(
    roomy.memory.process +
      roomy.memory.weights +
      4 * roomy.memory.trained +
      roomy.memory.arena +
      roomy.memory.scratch,
  )
  const recomputed = await estimate(bench.config({ ...settings, recompute: 'all' }))
  expect(recomputed.memory.arena).toBeLessThan(roomy.memory.arena)
})

test('untied embeddings count only as far as the data uses them', async () => {
  const weightsOf = async (name: string, keys: Record<string, unknown>) => {
    const model = join(bench.directory, name)
    await writeNewModel(model, 'tiny', 1, undefined, { vocab_size: 40_000, ...keys })
    return (await estimate(bench.config({ ...settings, model }))).memory.weights
  }
  const tied = await weightsOf('tied', { tie_word_embeddings: true })
  const untied = await weightsOf('untied', { tie_word_embeddings: false })
  // Bytes are tokens: all of them are in one or two of the 64 KiB blocks that the system maps at once.
  expect(untied - tied).toBeGreaterThan(0)
  expect(untied - tied).toBeLessThanOrEqual(4 * 64 * 1024)
})

test('keeps the newest save_total_limit checkpoints', async () => {
  const output_dir = join(bench.directory, 'kept')
  await bench.run({ ...settings, output_dir, max_steps: 5, save_steps: 1, save_total_limit: 2 })
  expect(readdirSync(join(output_dir, 'checkpoints')).toSorted()).toEqual(['step-00000004', 'step-00000005'])
})
