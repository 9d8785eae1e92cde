/** `cairn-tune bench matrix` over real runs of a tiny model. */
import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDirectory, runHere as run, start } from './program.ts'

const { path, remove } = createDirectory()
afterAll(remove)
const model = path('tiny')
beforeAll(async () => {
  expect(await run(['model', 'new', model])).toMatchObject({ code: 0 })
})

const args = (output: string, recipes: string, ...more: string[]) => [
  'bench',
  'matrix',
  model,
  '--recipes',
  recipes,
  '--samples',
  '40',
  '--max-steps',
  '1',
  '--threads',
  '1',
  '--output_dir',
  path(output),
  ...more,
]

/** Promise T5: The matrix measures only missing cells, shows comparable ones and prints one JSON document. */
test('measures each recipe in its own process; a second call measures only the missing one', async () => {
  const first = await run(args('matrix', 'bf16'))
  expect(first.code, first.err).toBe(0)
  const rate = String.raw`\d+(?:\.\d+)?k`
  expect(first.out).toMatch(
    new RegExp(
      String.raw`^# Benchmark\n\n- Machine: .*1 threads on .*\n- Data: problems:ro, 40 samples\n[^]*\| tiny` +
        String.raw` \| TODO \| TODO \| ${rate} \| TODO \| TODO \| TODO \| TODO \| TODO \|`,
    ),
  )
  const second = await run(args('matrix', 'bf16,qbnb', '--json'))
  expect(second.code, second.err).toBe(0)
  expect(second.err).toMatch(
    /tiny bf16: kept the earlier result; --fresh measures it again[^]*tiny qbnb: \d+ tokens\/s/,
  )
  // The rows that runs print go to stderr: stdout is one JSON document.
  expect(
    (JSON.parse(second.out) as { recipe: string; outcome: { status: string } }[]).map(
      ({ recipe, outcome }) => [recipe, outcome.status],
    ),
  ).toEqual([
    ['bf16', 'ok'],
    ['qbnb', 'ok'],
  ])
  expect(readFileSync(`${path('matrix')}/matrix.md`, 'utf8')).toMatch(
    new RegExp(String.raw`\| tiny \| TODO \| TODO \| ${rate} \| TODO \| TODO \| TODO \| TODO \| ${rate} \|`),
  )
  for (const name of [
    'matrix.json',
    'matrix.svg',
    'tiny/benchmark_sft_bf16/result.json',
    'tiny/benchmark_sft_qbnb/adapter/adapter_model.safetensors',
  ])
    expect(existsSync(`${path('matrix')}/${name}`), name).toBe(true)
})

test('a run that does not fit is OOM in the table and not a failure', async () => {
  const { code, out } = await run(args('small', 'bf16', '--memory', '150MB'))
  expect(code).toBe(0)
  expect(out).toContain('| tiny | TODO | TODO | OOM |')
})

test('Ctrl-C ends the current run and the matrix exits with 130', async () => {
  const running = start(args('stopped', 'bf16,fp8', '--samples', '10000', '--max-steps', '5000'))
  await new Promise<void>(resolve => {
    running.child.stderr?.on('data', (text: string) => {
      if (text.includes('step 1/')) resolve()
    })
  })
  running.child.kill('SIGINT')
  const { code, err } = await running.ended
  expect(code).toBe(130)
  expect(err).not.toContain('fp8: running')
  expect(existsSync(`${path('stopped')}/matrix.md`)).toBe(false)
})
