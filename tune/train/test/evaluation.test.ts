/**
 * Evaluations between steps, early stopping and the best model, and runs that start from an adapter or
 * resume.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
const dataset = bench.writeTexts('texts', textsOf(32, 8))
const other = bench.writeTexts('other', textsOf(24, 5))
/** A step sees every document once, so its loss is that of the whole set before its update. */
const settings = {
  dataset,
  gradient_accumulation_steps: 2,
  max_steps: 5,
  threads: 1,
  learning_rate: 0.01,
  lr_scheduler_type: 'constant',
}
/** A learning rate too small to change any number. */
const still = { ...settings, learning_rate: 1e-30 }
const adapterOf = (path: string) => readFileSync(join(path, 'adapter_model.safetensors'))
const jsonLines = (path: string) =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { step: number })

test.each(['bf16', 'fp8', 'qbnb'])(
  'an evaluation equals the loss at the start of the next step (%s)',
  async recipe => {
    const run = await bench.run({
      ...settings,
      recipe,
      compute_dtype: 'f32',
      eval_dataset: dataset,
      eval_steps: 1,
    })
    expect(run.evaluations.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5])
    expect(run.evaluations.map(({ tokens }) => tokens)).toEqual(Array(5).fill(run.metrics[0]?.trained_tokens))
    // Documents are in other rows; with fp8, activations are scaled by the magnitudes so far.
    const apart = recipe === 'fp8' ? 0.02 : 1e-4
    for (const [i, { loss }] of run.evaluations.slice(0, 4).entries())
      expect(Math.abs(loss / (losses(run)[i + 1] ?? NaN) - 1)).toBeLessThan(apart)
    expect(jsonLines(join(run.config.output_dir, 'eval.jsonl'))).toEqual(run.evaluations)
  },
)

/** Promise T4.8: An evaluation changes no bit of a run and equals the loss at the start of the next step. */
test.each(['bf16', 'fp8', 'fp4'])('evaluating changes no bit of a run (%s)', async recipe => {
  const [plain, evaluated] = [
    await bench.run({ ...settings, recipe }),
    await bench.run({ ...settings, recipe, eval_dataset: other, eval_steps: 2 }),
  ]
  expect(losses(evaluated)).toEqual(losses(plain))
  expect(adapterOf(evaluated.output).equals(adapterOf(plain.output))).toBe(true)
  expect(evaluated.evaluations.map(({ step }) => step)).toEqual([2, 4, 5])
})

test('a split removes its documents from training and depends on the seed', async () => {
  const record = (path: string) =>
    (JSON.parse(readFileSync(join(path, 'run.json'), 'utf8')) as { dataset: Record<string, unknown> }).dataset
  const [one, again, share] = [
    await bench.run({ ...settings, max_steps: 1, eval_split: 2 }),
    await bench.run({ ...settings, max_steps: 1, eval_split: 2 }),
    await bench.run({ ...settings, max_steps: 1, eval_split: 0.25, seed: 7 }),
  ]
  expect(record(one.config.output_dir)).toMatchObject({ documents: 6, evaluated: 2, examples: 8 })
  expect(record(share.config.output_dir)).toMatchObject({ documents: 6, evaluated: 2 })
  expect(record(again.config.output_dir)['hash']).toBe(record(one.config.output_dir)['hash'])
  expect(record(share.config.output_dir)['hash']).not.toBe(record(one.config.output_dir)['hash'])
  await expect(bench.run({ ...settings, eval_split: 8 })).rejects.toThrow(
    'eval_split 8: takes all 8 documents and leaves none to train on',
  )
})

test('a run without improvement stops after its patience', async () => {
  const notes: string[] = []
  const run = await bench.run(
    { ...still, max_steps: 20, eval_dataset: other, eval_steps: 1, early_stopping_patience: 2 },
    { onNote: line => notes.push(line) },
  )
  expect(run).toMatchObject({ status: 'finished', steps: 3 })
  expect(run.evaluations.map(({ is_best: isBest }) => isBest)).toEqual([true, false, false])
  expect(notes.find(line => line.startsWith('step 1: evaluation loss '))).toMatch(/tokens, the best so far$/)
})

/** Promise T4.8: The best evaluated state is kept and can replace the last one. */
test('the best state is kept, becomes the result on request, and can start another run', async () => {
  // Characters that the training texts do not contain: they become less likely as the model learns.
  const far = bench.writeTexts('far', ['@#$%^&*()!'.repeat(3), '~`|<>?[]{}'.repeat(3)])
  const wild = { ...settings, learning_rate: 0.05, max_steps: 6, eval_dataset: far, eval_steps: 1 }
  const run = await bench.run({ ...wild, load_best_model_at_end: true })
  const best = run.evaluations.findLast(({ is_best: isBest }) => isBest)
  expect(best?.loss).toBe(Math.min(...run.evaluations.map(({ loss }) => loss)))
  expect(best?.step).toBeLessThan(6)
  expect(adapterOf(run.output).equals(adapterOf(join(run.config.output_dir, 'best')))).toBe(true)
  const from = await bench.run({ ...still, max_steps: 1, eval_dataset: far, init_adapter: run.output })
  expect(from.evaluations[0]?.loss).toBe(best?.loss)
})

test.each([
  ['in a step', 3],
  ['in an evaluation', 4],
])('a run interrupted %s and resumed evaluates like an uninterrupted one', async (_, last) => {
  const evaluated = { ...settings, max_steps: 6, eval_dataset: other, eval_steps: 2, save_steps: 3 }
  const whole = await bench.run(evaluated)
  const output_dir = join(bench.directory, `stopped-${last}`)
  const stop = new AbortController()
  await bench.run(
    { ...evaluated, output_dir },
    { signal: stop.signal, onStep: ({ step }) => step === last && stop.abort() },
  )
  const resumed = await bench.run({ ...evaluated, output_dir, resume: true })
  const strip = (run: typeof whole) => run.evaluations.map(one => ({ ...one, seconds: 0 }))
  expect(strip(resumed)).toEqual(strip(whole))
})

test('training starts from an adapter, and one that does not fit is rejected with the fix', async () => {
  const whole = await bench.run({ ...settings, max_steps: 4 })
  const first = await bench.run({ ...settings, max_steps: 3 })
  const second = await bench.run({ ...settings, max_steps: 1, init_adapter: first.output })
  // Epochs pair documents differently, and the loss of a micro-batch is an f32: the last digit may differ.
  expect(Math.abs((losses(second)[0] ?? NaN) / (losses(whole)[3] ?? NaN) - 1)).toBeLessThan(1e-6)
  const from = (more: object) => bench.run({ ...settings, init_adapter: first.output, ...more })
  await expect(from({ lora_rank: 8 })).rejects.toThrow(
    /has rank 16 and alpha 32, but the run has 8 and 32; set lora_rank: 16 and lora_alpha: 32/,
  )
  await expect(from({ lora_target_modules: 'q_proj' })).rejects.toThrow(/which the run does not train/)
  await expect(from({ use_rslora: true })).rejects.toThrow('set use_rslora: false')
  await expect(from({ init_adapter: '/nowhere' })).rejects.toThrow(/nowhere.*cannot read the file/)
})

/** Promise T4.5: A run extended to more steps, or from an adapter, equals a single longer run. */
test('a run resumes to more steps than it was started with, and logs that', async () => {
  const output_dir = join(bench.directory, 'longer')
  await bench.run({ ...settings, max_steps: 3, output_dir })
  const notes: string[] = []
  const more = await bench.run(
    { ...settings, max_steps: 5, output_dir, resume: true },
    { onNote: line => notes.push(line) },
  )
  const whole = await bench.run(settings)
  expect(losses(more)).toEqual(losses(whole).slice(3))
  expect(adapterOf(more.output).equals(adapterOf(whole.output))).toBe(true)
  expect(notes).toContain('continuing to 5 steps instead of 3; from here on the schedule is that of 5 steps')
  await expect(bench.run({ ...settings, max_steps: 2, output_dir, resume: true })).rejects.toThrow(
    'has total_steps 5, not 2',
  )
})

test('rank-stabilised adapters scale by alpha over the root of the rank, as their PEFT config says', async () => {
  const [stable, plain] = [
    await bench.run({ ...settings, use_rslora: true, lora_alpha: 32 }),
    await bench.run({ ...settings, lora_alpha: 128 }),
  ]
  expect(losses(stable)).toEqual(losses(plain))
  const config = JSON.parse(readFileSync(join(stable.output, 'adapter_config.json'), 'utf8')) as object
  expect(config).toMatchObject({ use_rslora: true, r: 16, lora_alpha: 32 })
})

test('writes TensorBoard event files on request', async () => {
  const run = await bench.run({ ...settings, report_to: 'tensorboard', eval_dataset: other })
  const [name = ''] = readdirSync(join(run.config.output_dir, 'runs'))
  const text = readFileSync(join(run.config.output_dir, 'runs', name), 'latin1')
  expect(text.split('train/loss')).toHaveLength(1 + 5)
  expect(text).toContain('eval/loss')
})
