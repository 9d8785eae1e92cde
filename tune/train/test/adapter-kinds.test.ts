/**
 * Runs with DoRA, dropout and rank patterns: they start at the base's loss, resume with the same bits, and
 * merge.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { mergeAdapter, readAdapter } from '@cairn-tune/train'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
const dataset = bench.writeTexts('texts', textsOf(32, 8))
const settings = {
  dataset,
  eval_dataset: dataset,
  gradient_accumulation_steps: 2,
  max_steps: 6,
  threads: 1,
  learning_rate: 0.01,
  lr_scheduler_type: 'constant',
  compute_dtype: 'f32',
  weight_decay: 0.1,
}
const plain = await bench.run(settings)

describe.each([
  ['dora', { use_dora: true }],
  ['dropout', { lora_dropout: 0.2 }],
  ['patterns', { rank_pattern: 'q_proj=4,layers.1.mlp.up_proj=32', alpha_pattern: 'v_proj=8' }],
  ['dora_patterns', { use_dora: true, rank_pattern: 'q_proj=4', use_rslora: true, lora_alpha: 8 }],
])('%s', (name, keys) => {
  const all = { ...settings, ...keys }
  const output_dir = join(bench.directory, name)

  test('starts at the loss of the base, learns differently than without, and merges to the same loss', async () => {
    const run = await bench.run({ ...all, output_dir })
    expect(Math.abs((losses(run)[0] ?? NaN) / (losses(plain)[0] ?? NaN) - 1)).toBeLessThan(1e-6)
    expect(losses(run).at(-1)).toBeLessThan(0.9 * (losses(run)[0] ?? 0))
    expect(losses(run).slice(1)).not.toEqual(losses(plain).slice(1))
    const merged = join(bench.directory, `${name}-merged`)
    await mergeAdapter({ base: bench.model, adapter: run.output, output: merged })
    const [kept] = (await bench.run({ ...settings, model: merged, max_steps: 1 })).metrics
    // The merged weights are rounded to bf16; the adapter is not.
    expect(kept?.loss).toBeCloseTo(run.evaluations.at(-1)?.loss ?? NaN, 1)
    expect(kept?.loss).toBeLessThan((losses(plain)[0] ?? 0) - 0.2)
  })

  test('threads, recomputation and an interruption change no bit', async () => {
    const whole = await readAdapter(join(output_dir, 'adapter'))
    const interrupted = join(bench.directory, `${name}-resumed`)
    await bench.run({ ...all, threads: 2, recompute: 'all', max_steps: 3, output_dir: interrupted })
    const rest = await bench.run({ ...all, output_dir: interrupted, resume: true })
    const { tensors, magnitudes } = await readAdapter(rest.output)
    expect(tensors).toEqual(whole.tensors)
    expect(magnitudes).toEqual(whole.magnitudes)
  })

  test('another run starts from its adapter, but not from another kind', async () => {
    const init_adapter = join(output_dir, 'adapter')
    const evaluated = readFileSync(join(output_dir, 'eval.jsonl'), 'utf8').trim().split('\n').at(-1) ?? ''
    const more = await bench.run({ ...all, lora_dropout: 0, init_adapter, max_steps: 1 })
    expect(losses(more)[0]).toBeCloseTo((JSON.parse(evaluated) as { loss: number }).loss, 5)
    if (name !== 'dropout')
      await expect(bench.run({ ...settings, init_adapter })).rejects.toThrow(
        /init_adapter .*(?:use_dora|use_rslora|rank_pattern)/,
      )
  })
})

test('in a quantised recipe DoRA starts at the loss of the stored base and learns', async () => {
  const recipe = { ...settings, recipe: 'qbnb', compute_dtype: 'bf16' }
  const [without, dora] = [await bench.run(recipe), await bench.run({ ...recipe, use_dora: true })]
  expect(Math.abs((losses(dora)[0] ?? NaN) / (losses(without)[0] ?? NaN) - 1)).toBeLessThan(2e-3)
  expect(losses(dora).at(-1)).toBeLessThan(0.9 * (losses(dora)[0] ?? 0))
})

test('rejects a pattern that names no projection', async () => {
  await expect(bench.run({ ...settings, rank_pattern: 'c_attn=4' })).rejects.toThrow(
    'rank_pattern: c_attn is not a projection of',
  )
})
