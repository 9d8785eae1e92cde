import { expect, test } from 'vitest'
import type { BenchmarkResult } from '../result.ts'
import { formatThousands, markdownOf, speedupTable, throughputTable } from './tables.ts'

const result = (
  program: string,
  recipe: string,
  outcome: BenchmarkResult['outcome'] | number,
  startedAt = '2026-01-01T00:00:00Z',
): BenchmarkResult => ({
  schema: 1,
  program,
  program_version: '0',
  model: 'Qwen/Qwen3-0.6B',
  recipe,
  matmul: 'bf16',
  dataset: 'problems:ro',
  samples: 10_000,
  is_short: false,
  started_at: startedAt,
  hardware: 'a machine',
  threads: 2,
  config: {},
  outcome:
    typeof outcome === 'number'
      ? {
          status: 'ok',
          steps: 1,
          seconds: 1,
          tokens_per_second: outcome,
          tokens_per_second_p50: outcome,
          real_tokens_per_second: outcome,
          trained_tokens_per_second: outcome,
          first_loss: 1,
          last_loss: 1,
          peak_rss_bytes: 1,
          estimated_bytes: 1,
        }
      : outcome,
})
const results = [
  result('pytorch-peft', 'nf4', 1004),
  result('pytorch-peft', 'fp32', 900),
  result('cairn-tune', 'bf16', 10_540),
  result('cairn-tune', 'qfp8', 3014),
  result('cairn-tune', 'fp8', { status: 'oom', needed_bytes: 2, budget_bytes: 1, message: 'too large' }),
  result('cairn-tune', 'fp4', { status: 'unsupported', message: 'not here' }),
]
const models = ['Qwen/Qwen3-0.6B', 'Qwen/Qwen3-1.7B']

/** Promise T5.2: Throughput cells are thousands, `OOM`, `-` or `TODO`. */
test('the throughput table has cells in thousands, OOM, - and TODO, and a column for each baseline', () => {
  const { columns, rows } = throughputTable({ models, results })
  expect(columns).toEqual([
    'Model',
    'baseline NF4',
    'baseline BF16',
    'baseline FP32',
    'BF16',
    'FP8',
    'QoFP8',
    'FP4',
    'QoFP4',
    'QoNF4',
  ])
  expect(rows).toEqual([
    ['Qwen3-0.6B', '1.00k', 'TODO', '0.90k', '10.5k', 'OOM', '3.01k', '-', 'TODO', 'TODO'],
    ['Qwen3-1.7B', ...Array<string>(9).fill('TODO')],
  ])
})

test('marks cells whose weights were streamed from disk and explains the mark in a note', () => {
  const streamed = { ...result('cairn-tune', 'qfp8', 120), config: { offload: 'disk' } }
  const { rows, notes } = throughputTable({ models, results: [...results, streamed] })
  expect(rows[0]?.[6]).toBe('0.12k streamed')
  expect(notes.join()).toMatch(/`streamed`: the base was read from disk/)
  expect(throughputTable({ models, results }).notes.join()).not.toMatch(/streamed/)
})

/** Promise T5.3: Speedups are computed from unrounded figures against the baseline's NF4. */
test('computes speedups from unrounded figures against the NF4 run of the baseline', () => {
  // From rounded figures, 3.01 / 1.00 would be 3.01x.
  const { columns, rows } = speedupTable({ models, results })
  expect(columns).toEqual(['Model', 'BF16', 'FP8', 'QoFP8', 'FP4', 'QoFP4', 'QoNF4'])
  expect(rows).toEqual([
    ['Qwen3-0.6B', '10.50x', '-', '3.00x', '-', '-', '-'],
    ['Qwen3-1.7B', '-', '-', '-', '-', '-', '-'],
  ])
})

test('uses the later of two runs of a cell', () => {
  const twice = [...results, result('cairn-tune', 'bf16', 20_000, '2026-01-02T00:00:00Z')]
  expect(throughputTable({ models, results: twice }).rows[0]?.[4]).toBe('20.0k')
})

test.each([
  [350, '0.35k'],
  [8412, '8.41k'],
  [18_349, '18.3k'],
  [121_400, '121k'],
])('prints %d tokens per second as %s', (rate, text) => {
  expect(formatThousands(rate)).toBe(text)
})

test('prints a table as Markdown with its notes below', () => {
  expect(markdownOf({ title: 'T', columns: ['a', 'b'], rows: [['1|2', '3']], notes: ['n'] })).toBe(
    '## T\n\n| a | b |\n| --- | ---: |\n| 1\\|2 | 3 |\n\nn\n',
  )
})
