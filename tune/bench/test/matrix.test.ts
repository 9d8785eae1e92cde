/**
 * The benchmark matrix: which runs it measures, keeps and reports. A script replaces the benchmark, so that
 * the figures are known.
 */
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  readResults,
  runBaseline,
  runMatrix,
  writeMatrix,
  type MatrixCell,
  type MatrixOptions,
  type RunSettings,
} from '../src/index.ts'
import { resultSchema, type BenchmarkResult } from '../src/result.ts'

let outputDir: string
let script: string
beforeEach(async () => {
  outputDir = await mkdtemp(join(tmpdir(), 'cairn-matrix-'))
  script = join(outputDir, 'benchmark.mjs')
  await writeFile(script, SCRIPT)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(outputDir, { recursive: true })
})

// Counts its runs; bf16 is fast, qbnb does not fit, fp8 is killed, and a model named "absent" writes no
// result.
const SCRIPT = `
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
const [model, recipe, ...flags] = process.argv.slice(2)
const flag = name => { const i = flags.indexOf(name); return i < 0 ? undefined : Number(flags[i + 1]) }
appendFileSync(process.env.COUNT, [model, recipe, ...flags].join(' ') + '\\n')
if (recipe === 'fp8') process.kill(process.pid, 'SIGKILL')
if (model.includes('absent')) process.exit(2)
const isBaseline = ['nf4', 'fp32'].includes(recipe)
const folder = isBaseline ? 'baseline_pytorch_' : 'benchmark_sft_'
const directory = process.env.OUTPUT_DIR + '/' + folder + recipe
mkdirSync(directory, { recursive: true })
const rate = { bf16: 10540, fp4: 3014, nf4: 1004, fp32: 500 }[recipe]
const outcome = rate === undefined
  ? { status: 'oom', needed_bytes: 2, budget_bytes: 1, message: 'too large' }
  : {
      status: 'ok', steps: 1, seconds: 1,
      tokens_per_second: rate, tokens_per_second_p50: rate,
      real_tokens_per_second: rate, trained_tokens_per_second: rate,
      first_loss: 1, last_loss: 1, peak_rss_bytes: 1, estimated_bytes: 1,
    }
const config = { max_steps: flag('--max-steps'), threads: flag('--threads') }
writeFileSync(directory + '/result.json', JSON.stringify({
  schema: 1, program: isBaseline ? 'pytorch-peft' : 'cairn-tune', program_version: '1',
  model, recipe, matmul: 'bf16', dataset: 'problems:ro',
  samples: flag('--samples') ?? 10000, is_short: flags.length > 0, started_at: new Date().toISOString(),
  hardware: rate === undefined ? 'a machine' : 'a machine with avx2', threads: 1, config, outcome,
}))
process.exit(rate === undefined ? 3 : 0)
`

const runs = () =>
  existsSync(join(outputDir, 'count'))
    ? readFileSync(join(outputDir, 'count'), 'utf8').trim().split('\n')
    : []
const models = ['Qwen/Qwen3-0.6B', 'other/Qwen3-0.6B']

async function measure(
  settings: RunSettings,
  more: Partial<MatrixOptions> = {},
): Promise<{ failed: number; cells: string[] }> {
  vi.stubEnv('COUNT', join(outputDir, 'count'))
  const cells: string[] = []
  const onCell = (cell: MatrixCell) =>
    void cells.push(
      `${cell.model} ${cell.recipe} ${cell.state}${cell.state === 'failed' ? `: ${cell.message}` : ''}`,
    )
  const { failed } = await runMatrix({
    models,
    recipes: ['bf16', 'qbnb'],
    outputDir,
    command: [process.execPath, script],
    settings,
    fresh: false,
    onCell,
    ...more,
  })
  return { failed, cells }
}

test('runs each model in each recipe once; models with the same short name get their own folders', async () => {
  const { failed } = await measure({ samples: 60 })
  expect(failed).toBe(0)
  expect(runs()).toEqual(
    models.flatMap(model => ['bf16', 'qbnb'].map(recipe => `${model} ${recipe} --samples 60`)),
  )
  expect((await readdir(outputDir)).filter(name => name.includes('Qwen3'))).toEqual([
    'Qwen--Qwen3-0.6B',
    'other--Qwen3-0.6B',
  ])
})

test('keeps results with the same settings and repeats the others', async () => {
  await measure({ samples: 60, maxSteps: 2 }, { models: ['a/b'] })
  expect((await measure({ samples: 60, maxSteps: 2 }, { models: ['a/b'] })).cells).toEqual([
    'a/b bf16 kept',
    'a/b qbnb kept',
  ])
  expect(runs()).toHaveLength(2)
  for (const settings of [
    { samples: 60 },
    { samples: 60, maxSteps: 3 },
    { samples: 60, maxSteps: 3, threads: 1 },
    { samples: 60, maxSteps: 3, threads: 1, memory: '1GB' },
    {},
  ])
    await measure(settings, { models: ['a/b'], recipes: ['bf16'] })
  expect(runs()).toHaveLength(7)
  expect(runs().at(-2)).toBe('a/b bf16 --samples 60 --max-steps 3 --threads 1 --memory 1GB')
  expect((await measure({}, { models: ['a/b'], recipes: ['bf16'], fresh: true })).cells).toEqual([
    'a/b bf16 started',
    'a/b bf16 done',
  ])
})

test('a killed or failed run leaves its cell unmeasured, and the other runs continue', async () => {
  const { failed, cells } = await measure({}, { models: ['absent/x', 'a/b'], recipes: ['fp8', 'fp4'] })
  expect(cells).toEqual([
    'absent/x fp8 started',
    'absent/x fp8 failed: was killed by SIGKILL',
    'absent/x fp4 started',
    'absent/x fp4 failed: exited with code 2',
    'a/b fp8 started',
    'a/b fp8 failed: was killed by SIGKILL',
    'a/b fp4 started',
    'a/b fp4 done',
  ])
  expect(failed).toBe(3)
})

test('the baseline runs on our generated problems and keeps its results', async () => {
  vi.stubEnv('COUNT', join(outputDir, 'count'))
  const notes: string[] = []
  const options = {
    python: process.execPath,
    script,
    models: ['a/b'],
    recipes: ['nf4', 'fp32'],
    outputDir,
    settings: { samples: 60, memory: '1GB' },
    fresh: false,
    onNote: (line: string) => void notes.push(line),
  }
  await runBaseline(options)
  await runBaseline(options)
  expect(runs()).toEqual(
    ['nf4', 'fp32'].map(
      recipe => `a/b ${recipe} --dataset ${join(outputDir, 'problems_ro.jsonl')} --samples 60`,
    ),
  )
  expect(notes.filter(line => line.includes('kept the earlier result'))).toHaveLength(2)
})

test('writes both tables, the setup, readable JSON and a chart of all figures', async () => {
  await measure({ samples: 60 })
  await runBaseline({
    python: process.execPath,
    script,
    models,
    recipes: ['nf4'],
    outputDir,
    settings: { samples: 60 },
    fresh: false,
  })
  const stranger = {
    ...(await readResults(outputDir))[0],
    model: 'not/asked',
    hardware: 'another machine',
  } as BenchmarkResult
  const { markdown } = await writeMatrix(outputDir, {
    models,
    results: [stranger, ...(await readResults(outputDir))],
  })
  expect(markdown).toBe(await readFile(join(outputDir, 'matrix.md'), 'utf8'))
  expect(markdown).toContain(
    '- Machine: a machine with avx2\n- Data: problems:ro, 60 samples\n- Programs: cairn-tune (1); ' +
      'pytorch-peft (1)\n',
  )
  for (const model of models) {
    expect(markdown).toContain(`| ${model} | 1.00k | TODO | 10.5k | TODO | TODO | TODO | TODO | OOM |`)
    expect(markdown).toContain(`| ${model} | 10.50x | - | - | - | - | - |`)
  }
  expect(markdown).toContain('Short runs')
  const written = JSON.parse(await readFile(join(outputDir, 'matrix.json'), 'utf8')) as { results: unknown[] }
  expect(written.results.map(result => resultSchema.parse(result).model).toSorted()).toEqual(
    models.flatMap(model => Array<string>(3).fill(model)),
  )
  const svg = await readFile(join(outputDir, 'matrix.svg'), 'utf8')
  // The background, a legend entry for each of three series, and two bars per model; OOM replaces a bar.
  expect(svg.match(/<rect /g)).toHaveLength(1 + 3 + 4)
  expect(svg.match(/>OOM</g)).toHaveLength(2)
})
