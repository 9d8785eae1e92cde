import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { CONFIG_KEYS } from './config.ts'
import { generated } from './generate.ts'
import { nearestKey } from './nearest-key.ts'
import { ALIASES, UNSUPPORTED_KEYS } from './peer-names.ts'
import { readConfig } from './read-config.ts'
import { learningRateAt, warmupSteps, type Schedule } from './schedule.ts'

const needed = ['--model', 'm', '--dataset', 'd']

test('the defaults match the benchmark and accuracy runs of the specification', () => {
  expect(readConfig({ flags: needed })).toMatchObject({
    recipe: 'bf16',
    max_seq_length: 2048,
    per_device_train_batch_size: 2,
    gradient_accumulation_steps: 4,
    packing: true,
    lora_rank: 16,
    lora_alpha: 32,
    lora_dropout: 0,
    learning_rate: 2e-4,
    lr_scheduler_type: 'linear',
    output_dir: './output',
  })
})

test('reads YAML, and flags in every spelling override it', () => {
  const yaml =
    'model: org/model\ndataset: data.jsonl\nlearning_rate: 1e-3\nwarmup_steps: 20\npacking: ' +
    'true\nrecipe: qfp8\n'
  expect(readConfig({ path: 'run.yaml', yaml })).toMatchObject({
    model: 'org/model',
    learning_rate: 1e-3,
    warmup_steps: 20,
    recipe: 'qfp8',
  })
  const flags = [
    '--learning_rate',
    '5e-4',
    '--max-seq-length=512',
    '--packing',
    'false',
    '--model',
    '7',
    '--lora_target_modules',
    'q_proj, v_proj',
    '--resume',
    '--weight-decay',
    '0.001',
    '--matmul=fp8-hybrid',
  ]
  expect(readConfig({ path: 'run.yaml', yaml, flags })).toMatchObject({
    learning_rate: 5e-4,
    max_seq_length: 512,
    packing: false,
    model: '7',
    lora_target_modules: ['q_proj', 'v_proj'],
    resume: true,
    weight_decay: 0.001,
    warmup_steps: 20,
    matmul: 'fp8-hybrid',
  })
  expect(() => readConfig({ yaml: '' })).toThrow('model is required\ndataset is required')
})

test.each([
  [
    'an unknown key in YAML',
    { yaml: 'lora_ranks: 8' },
    'run.yaml: unknown key "lora_ranks"; did you mean lora_rank?',
  ],
  [
    'an unknown flag',
    { flags: ['--learning-rat', '1'] },
    'flags: unknown key "learning-rat"; did you mean learning_rate?',
  ],
  ['a key like none', { flags: ['--zzzzzzzzzzzz'] }, 'unknown key "zzzzzzzzzzzz"; known: model, dataset'],
  [
    'an unknown recipe',
    { flags: [...needed, '--recipe', 'int8'] },
    /--recipe: .*"bf16"\|"fp8"\|"qfp8"\|"fp4"\|"qfp4"\|"qbnb".*, got "int8"/,
  ],
  ['a rank that no server takes', { flags: [...needed, '--lora_rank', '65'] }, /--lora_rank: .*64, got 65/],
  [
    'a number that is none',
    { yaml: 'model: m\ndataset: d\nwarmup_steps: many' },
    /run.yaml: warmup_steps: .*number.*, got "many"/,
  ],
  ['dropout of everything', { flags: [...needed, '--lora_dropout', '1'] }, /--lora_dropout: .*<1, got 1/],
  [
    'dropout where answers are compared',
    { flags: [...needed, '--lora_dropout', '0.1', '--method', 'dpo'] },
    'lora_dropout: not available with method dpo',
  ],
  [
    'DoRA with dropout',
    { flags: [...needed, '--lora_dropout', '0.1', '--use_dora'] },
    'use_dora and lora_dropout exclude each other: ',
  ],
  [
    'an adapter’s keys without an adapter',
    { flags: [...needed, '--lora', 'false', '--use_dora'] },
    'use_dora needs an adapter, and lora: false trains none',
  ],
  [
    'a pattern without numbers',
    { flags: [...needed, '--rank_pattern', 'q_proj'] },
    /--rank_pattern: .*expected number/,
  ],
  ['a pattern that is no name', { flags: [...needed, '--alpha_pattern', '.*q_proj=3'] }, /--alpha_pattern: /],
  [
    'patterns beside a rank of experts',
    { flags: [...needed, '--rank_pattern', 'q_proj=3', '--lora_expert_rank', '2'] },
    'rank_pattern and lora_expert_rank exclude each other: ',
  ],
  [
    'a warm-up of a schedule that has none',
    { flags: [...needed, '--lr_scheduler_type', 'constant', '--warmup_steps', '3'] },
    'lr_scheduler_type: constant has no warm-up; use constant_with_warmup',
  ],
  [
    'a thing said twice',
    { yaml: 'model: m\ndataset: d\nlr: 1e-3\nlearning_rate: 1e-4' },
    'run.yaml: "learning_rate" and another key both set learning_rate; remove one of them',
  ],
  [
    'a key of other trainers that has no counterpart',
    { flags: [...needed, '--logging_steps', '10'] },
    'flags: "logging_steps" is not supported: every step is logged, in metrics.jsonl',
  ],
  ['a list', { yaml: '- a' }, 'run.yaml: must contain keys and values'],
  ['broken YAML', { yaml: 'a: [' }, 'run.yaml: not YAML'],
  ['a word without a key', { flags: ['train'] }, '"train": expected --key value'],
  [
    'a matmul for a recipe that has its own',
    { flags: [...needed, '--recipe', 'fp8', '--matmul', 'bf16'] },
    'matmul: only available with qfp8, qfp4, qbnb; recipe fp8 has a fixed format',
  ],
  [
    'full training of a frozen base',
    { flags: [...needed, '--recipe', 'qbnb', '--lora', 'false'] },
    'lora: false trains the base, which recipe qbnb keeps frozen; use recipe: bf16',
  ],
  [
    'a size that is none',
    { flags: [...needed, '--memory_limit', '12'] },
    '--memory_limit: a size such as 12GiB, got "12"',
  ],
])('rejects %s with the location and the fix', (_, given, message) => {
  expect(() => readConfig({ path: 'run.yaml', ...given })).toThrow(message)
})

test('reads patterns as maps in YAML and as lists in flags', () => {
  const yaml = 'model: m\ndataset: d\nrank_pattern: {q_proj: 8}\nalpha_pattern: {v_proj: 4}\n'
  expect(readConfig({ yaml, flags: ['--rank-pattern', 'q_proj=2, layers.1.mlp.up_proj=6'] })).toMatchObject({
    rank_pattern: { q_proj: 2, 'layers.1.mlp.up_proj': 6 },
    alpha_pattern: { v_proj: 4 },
  })
})

test('accepts names and number formats of other trainers', () => {
  const yaml = 'base_model: m\ndataset_name: d\nlr: 2e-4\nlora_r: 8\nepochs: 2\noptim: adamw_torch\n'
  const flags = ['--memory', '2GiB', '--max-length', '512', '--learning-rate', '2E-4']
  const more = ['--lr_scheduler', 'constant_with_warmup', '--warmup_ratio', '0.1']
  expect(readConfig({ yaml, flags: [...flags, ...more] })).toMatchObject({
    model: 'm',
    dataset: 'd',
    learning_rate: 0.0002,
    lora_rank: 8,
    num_train_epochs: 2,
    optimizer: 'adamw',
    memory_limit: '2GiB',
    max_seq_length: 512,
    lr_scheduler_type: 'constant_with_warmup',
  })
  expect(warmupSteps({ warmup_steps: 0, warmup_ratio: 0.1 }, 101)).toBe(11)
  for (const [theirs, ours] of Object.entries(ALIASES)) {
    expect(CONFIG_KEYS).toContain(ours)
    expect(CONFIG_KEYS).not.toContain(theirs)
  }
  expect(Object.keys(UNSUPPORTED_KEYS).filter(key => CONFIG_KEYS.includes(key))).toEqual([])
})

test('the file that the documentation shows is a valid configuration', async () => {
  const page = (await generated())['docs/tune/config.md'] ?? ''
  const yaml = /```yaml\n(.*?)```/s.exec(page)?.[1]
  expect(yaml).toBeDefined()
  expect(readConfig({ yaml: yaml ?? '' })).toMatchObject({
    recipe: 'qbnb',
    eval_split: 0.1,
    learning_rate: 2e-4,
  })
})

test('suggests the nearest key, or none', () => {
  expect(nearestKey('batch', ['per_device_train_batch_size', 'packing'])).toBeUndefined()
  expect(nearestKey('PACKIN', ['packing', 'seed'])).toBe('packing')
})

test('the learning rate matches transformers at every step', () => {
  const cases = JSON.parse(
    readFileSync(new URL('../test/reference/schedule.json', import.meta.url), 'utf8'),
  ) as (Omit<Schedule, 'totalSteps' | 'learning_rate'> & { total_steps: number; rates: number[] })[]
  expect(cases).toHaveLength(12)
  for (const { total_steps: totalSteps, rates, ...schedule } of cases) {
    rates.forEach((rate, step) =>
      expect(
        learningRateAt(step, { ...schedule, learning_rate: 2e-4, totalSteps }),
        `${schedule.lr_scheduler_type} ${schedule.warmup_steps}/${totalSteps} step ${step}`,
      ).toBeCloseTo(rate, 15),
    )
  }
})

test('the reference page is up to date; run: npm run gen', async () => {
  for (const [path, text] of Object.entries(await generated()))
    expect(readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8')).toBe(text)
})
