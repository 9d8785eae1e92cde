/** The specification's throughput table from result files of several machines. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writePublished } from '../src/index.ts'
import { FIXED } from '../src/fixed.ts'
import type { BenchmarkResult } from '../src/result.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-published-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const H100 = 'linux x64, a processor, 1 threads on 16 processors, cuda:0 NVIDIA H100 80GB HBM3 (9.0), 126 GiB'
const CONSUMER = H100.replace('NVIDIA H100 80GB HBM3 (9.0)', 'NVIDIA GeForce RTX 5090 (12.0)')
const PROCESSOR = 'linux x64, a processor, 2 threads on 2 processors, avx512bf16, 24 GiB'

type Given = Partial<Omit<BenchmarkResult, 'outcome'>> & {
  rate?: number
  outcome?: BenchmarkResult['outcome']
}

/** Steps of 16,384 tokens a rank, at `rate` tokens a second. */
function resultOf({ rate = 1000, outcome, config, ...rest }: Given): BenchmarkResult {
  const slots = 16_384 * Number(config?.['ranks'] ?? 1)
  return {
    schema: 1,
    program: 'cairn-tune',
    program_version: '1',
    model: 'Qwen/Qwen3-0.6B',
    recipe: 'bf16',
    matmul: 'bf16',
    dataset: 'problems:ro',
    samples: 10_000,
    is_short: false,
    started_at: '2026-11-29T10:00:00.000Z',
    hardware: H100,
    threads: 1,
    config: { ...FIXED, ...config },
    outcome: outcome ?? {
      status: 'ok',
      steps: 10,
      seconds: (10 * slots) / rate,
      tokens_per_second: rate,
      tokens_per_second_p50: rate,
      real_tokens_per_second: rate,
      trained_tokens_per_second: rate,
      first_loss: 2,
      last_loss: 1,
      peak_rss_bytes: 1,
      estimated_bytes: 1,
    },
    ...rest,
  }
}

let made = 0
function write(result: BenchmarkResult | string): string {
  const directory = join(folder, 'results', `${(made += 1)}`)
  mkdirSync(directory, { recursive: true })
  const path = join(directory, 'result.json')
  writeFileSync(path, typeof result === 'string' ? result : JSON.stringify(result))
  return path
}
const publish = () => writePublished([join(folder, 'results')], join(folder, 'out'))
/** The cells of a model in the table with this title. */
const cells = (markdown: string, title: string, model: string): string[] => {
  const table = markdown.split('## ').find(text => text.startsWith(`${title}\n`)) ?? ''
  const line = table.split('\n').find(text => text.startsWith(`| ${model} |`)) ?? ''
  return line
    .split('|')
    .map(cell => cell.trim())
    .slice(2, -1)
}

test('every cell of every machine is printed; those without a result say TODO', async () => {
  write(resultOf({ rate: 41_800 }))
  write(resultOf({ recipe: 'qbnb', model: '/models/qwen3-8b', rate: 8630 }))
  write(resultOf({ program: 'pytorch-peft', recipe: 'nf4', model: 'Qwen/Qwen3-8B', rate: 4310 }))
  write(resultOf({ hardware: CONSUMER, model: 'Qwen/Qwen3-30B-A3B', outcome: OOM }))
  write(resultOf({ hardware: `4 ranks of ${CONSUMER}`, config: { ranks: 4 }, rate: 50_000 }))
  write(resultOf({ hardware: PROCESSOR, rate: 1777 }))
  const { markdown, strangers } = await publish()
  expect(strangers).toEqual([])
  const titles = [...markdown.matchAll(/^## (.+)$/gm)].map(([, title]) => title)
  expect(titles).toEqual([
    'One 32 GB consumer GPU',
    'One 80 GB data-center GPU',
    'One data-center GPU with more memory',
    'One Blackwell data-center GPU',
    'One Blackwell Ultra data-center GPU',
    'Four 32 GB consumer GPUs',
    PROCESSOR,
  ])
  const large = 'One 80 GB data-center GPU'
  const todo = (count: number) => Array.from({ length: count }, () => 'TODO')
  expect(cells(markdown, large, '0.6B')).toEqual([...todo(2), '41.8k', ...todo(5)])
  expect(cells(markdown, large, '8B')).toEqual(['4.31k', ...todo(6), '8.63k'])
  expect(cells(markdown, large, '32B')).toEqual(todo(8))
  expect(cells(markdown, large, '20B-A4B')).toEqual([...todo(2), '-', '-', '-', '-', 'TODO', '-'])
  expect(cells(markdown, 'One 32 GB consumer GPU', '30B-A3B')).toEqual([...todo(2), 'OOM', ...todo(5)])
  expect(cells(markdown, 'One 32 GB consumer GPU', '0.6B')).toEqual(todo(8))
  expect(cells(markdown, 'One 32 GB consumer GPU', '14B')).toEqual([])
  expect(cells(markdown, 'Four 32 GB consumer GPUs', '0.6B')).toEqual([...todo(2), '50.0k', ...todo(5)])
  expect(cells(markdown, 'One Blackwell data-center GPU', '4B')).toEqual(todo(8))
  expect(cells(markdown, PROCESSOR, '0.6B')).toEqual([...todo(2), '1.78k', ...todo(5)])
  expect(readFileSync(join(folder, 'out', 'matrix.md'), 'utf8')).toBe(markdown)
})

const OOM = { status: 'oom', needed_bytes: 2, budget_bytes: 1, message: 'too large' } as const

test('a whole run precedes a short one, and the newest run an older one', async () => {
  write(resultOf({ rate: 1000 }))
  write(resultOf({ rate: 2000, started_at: '2026-11-29T11:00:00.000Z' }))
  write(resultOf({ rate: 9000, started_at: '2026-11-29T12:00:00.000Z', is_short: true }))
  write(resultOf({ rate: 3000, recipe: 'fp8', is_short: true }))
  const { markdown } = await publish()
  expect(cells(markdown, 'One 80 GB data-center GPU', '0.6B').slice(2, 4)).toEqual(['2.00k', '3.00k short'])
})

test('a model without a row is named', async () => {
  write(resultOf({ model: 'someone/Model-70B' }))
  expect((await publish()).strangers).toEqual(['someone/Model-70B'])
})

test('files that cannot enter the table are all refused by name, and nothing is written', async () => {
  write(resultOf({}))
  const paths = [
    write('{"schema": 1'),
    write('{"schema": 2}'),
    write(resultOf({ config: { max_seq_length: 512 } })),
    write(resultOf({ hardware: `${PROCESSOR}, cuda:0 Cairn emulator, emulated (no speed)` })),
    write(JSON.stringify(resultOf({})).replace('"seconds":163.84', '"seconds":16.384')),
  ]
  const error = await publish().then(
    () => '',
    (reason: unknown) => String(reason),
  )
  expect(error).toContain('5 of 6 result files cannot enter the table:')
  for (const path of paths) expect(error).toContain(`${path}: `)
  expect(error).toContain('has max_seq_length 512, but the benchmark has 2048')
  expect(error).toContain('was measured on an emulated GPU, whose speed means nothing')
  expect(error).toContain('gives 1000 tokens per second, but 10 steps of 16384 tokens in 16.4 s are 10000')
  expect(() => readFileSync(join(folder, 'out', 'matrix.md'))).toThrow('ENOENT')
})

test('an empty directory is an error', async () => {
  mkdirSync(join(folder, 'results'))
  await expect(publish()).rejects.toThrow('contains no result.json')
})
