/**
 * `cairn-tune eval` as a user runs it: a real server, progress, results, resuming after an interruption, and
 * errors.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDirectory, runHere as run, start, type RunningProgram } from './program.ts'

const QUESTIONS = 24
const { path, remove } = createDirectory()
const model = path('tiny')
let server: RunningProgram
let url: string

async function serve(port = '0'): Promise<void> {
  server = start([
    'serve',
    model,
    '--served-model-name',
    'base',
    '--served-model-name',
    'other',
    '--max-model-len',
    '2048',
    '--port',
    port,
    '--threads',
    '1',
    '--kv-cache-memory',
    '64MiB',
    '--json',
  ])
  await server.waitForOutput(out => {
    if (out.includes('\n')) ({ url } = JSON.parse(out) as { url: string })
    return out.includes('\n')
  })
}
beforeAll(async () => {
  expect(await run(['model', 'new', model])).toMatchObject({ code: 0 })
  await serve()
})
afterAll(remove)

const args = (name: string, output: string, ...more: string[]) => [
  'eval',
  name,
  '--url',
  url,
  '--dataset',
  'problems:ro',
  '--limit',
  String(QUESTIONS),
  '--output_path',
  path(output),
  ...more,
]
const samples = (output: string) =>
  readFileSync(`${path(output)}/samples_gsm8k.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)
const results = (output: string) =>
  JSON.parse(readFileSync(`${path(output)}/results.json`, 'utf8')) as Record<string, Record<string, unknown>>

/** Resolves when the first answer is recorded. */
const hears = ({ child, ended }: RunningProgram, sign: RegExp) =>
  new Promise<void>((resolve, reject) => {
    let heard = ''
    child.stderr?.on('data', (text: string) => {
      heard += text
      if (sign.test(heard)) resolve()
    })
    void ended.then(({ err }) => reject(new Error(`ended without it: ${err}`)))
  })

test('an evaluation shows progress, prints both figures and stores every generation', async () => {
  const { code, out, err } = await run(args('base', 'whole'))
  expect(code, err).toBe(0)
  const figure = String.raw`\d\.\d{4} ± \d\.\d{4} {2}\(\d+ of 24\)`
  expect(out).toMatch(new RegExp(`^strict-match {6}${figure}\nflexible-extract {2}${figure}\n$`))
  expect(err).toMatch(/\[█+·+\] \d+\/24 {2}accuracy/)
  expect(err).toMatch(/\[█{20}\] 24\/24/)
  expect(err).toContain(`${path('whole')}/results.json`)
  expect(results('whole')).toMatchObject({
    results: {
      gsm8k: {
        'exact_match,strict-match': expect.any(Number),
        'exact_match_stderr,flexible-extract': expect.any(Number),
      },
    },
    'n-shot': { gsm8k: 0 },
    config: { model: 'base', num_concurrent: 50, max_retries: 3 },
  })
  const [header, ...generations] = samples('whole')
  expect(header).toMatchObject({ task: 'gsm8k', model: 'base', source: 'problems:ro', questions: QUESTIONS })
  expect(generations.map(({ index }) => index).toSorted((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: QUESTIONS }, (_, i) => i),
  )
  for (const generation of generations)
    expect(generation).toMatchObject({
      prompt: `Question: ${String(generation['question'])}\nAnswer:`,
      reply: expect.any(String),
      extracted: { 'strict-match': expect.any(String) },
    })
})

/** Promise T6.2: An interrupted `cairn-tune eval` exits with 130 and resumes to the same figures. */
test('an interrupted evaluation exits with 130, then resumes to the same figures', async () => {
  const running = start(args('base', 'stopped', '--num_concurrent', '1'))
  await hears(running, /\[█+·+\] \d+\/24/)
  running.child.kill('SIGINT')
  expect((await running.ended).code).toBe(130)
  const answered = samples('stopped').length - 1
  expect(answered).toBeGreaterThan(0)
  expect(answered).toBeLessThan(QUESTIONS)
  expect(existsSync(`${path('stopped')}/results.json`)).toBe(false)
  const { code, out, err } = await run(args('base', 'stopped', '--json'))
  expect(code, err).toBe(0)
  expect(err).toContain(`reused ${answered} answers of an earlier run`)
  expect(JSON.parse(out)).toMatchObject({
    model: 'base',
    source: 'problems:ro',
    scores: { 'strict-match': { total: QUESTIONS } },
    output_path: path('stopped'),
  })
  expect(results('stopped')['results']).toEqual(results('whole')['results'])
})

test("rejects the output folder of another model's evaluation", async () => {
  const before = readFileSync(`${path('whole')}/samples_gsm8k.jsonl`, 'utf8')
  const { code, err } = await run(args('other', 'whole'))
  expect(code).toBe(2)
  expect(err).toMatch(
    /samples_gsm8k\.jsonl: contains another evaluation .* give another output path or delete the file/,
  )
  expect(readFileSync(`${path('whole')}/samples_gsm8k.jsonl`, 'utf8')).toBe(before)
})

const cases: [what: string, args: () => string[], code: number, says: RegExp][] = [
  [
    'a model that the server does not have',
    () => args('nobody', 'nobody'),
    2,
    /completions: 404 The model `nobody` does not exist\. GET http:.*\/v1\/models lists the served models/,
  ],
  [
    'an address that is none',
    () => args('base', 'none', '--url', 'localhost:8001'),
    2,
    /localhost:8001: expected the URL of a server, such as http:/,
  ],
  [
    'a server without such a path',
    () => args('base', 'none', '--url', `${url}/elsewhere`),
    2,
    /404 Unknown route POST \/elsewhere\/v1\/completions/,
  ],
  [
    'a port where nothing listens',
    () => args('base', 'none', '--url', 'http://127.0.0.1:9', '--max_retries', '1'),
    1,
    /POST http:\/\/127\.0\.0\.1:9\/v1\/completions: fetch failed: .*; is the server running\?/,
  ],
  [
    'no model',
    () => ['eval', '--url', 'http://127.0.0.1:9'],
    2,
    /Missing the model or adapter to evaluate, by its name on the server/,
  ],
  ['no address', () => ['eval', 'base'], 2, /--url is required: the URL of the server, such as http:/],
  [
    'a single question',
    () => args('base', 'none', '--limit', '1'),
    2,
    /--limit must be a whole number of at least 2, got "1"/,
  ],
  [
    'a data set that is not there',
    () => args('base', 'none', '--dataset', path('none.jsonl')),
    2,
    /data set .*none\.jsonl: no such file/,
  ],
  [
    'a data set without questions',
    () => (
      writeFileSync(path('text.jsonl'), '{"text": "one"}\n'),
      args('base', 'none', '--dataset', path('text.jsonl'))
    ),
    2,
    /text\.jsonl: row 1 has no columns question and answer/,
  ],
  [
    'an output path that is a file',
    () => args('base', 'text.jsonl'),
    2,
    /output path .*text\.jsonl: is a file/,
  ],
]

test.each(cases)('%s', async (_what, list, code, says) => {
  const ended = await run(list())
  expect(ended.err).toMatch(says)
  expect(ended.code).toBe(code)
  expect(ended.err).not.toMatch(/\n\s+at /)
})

test('an evaluation fails when the server dies and resumes when it is back', async () => {
  const running = start(args('base', 'gone', '--num_concurrent', '1', '--max_retries', '1'))
  await hears(running, /\[█+·+\] \d+\/24/)
  server.child.kill('SIGKILL')
  const { code, err } = await running.ended
  expect(code).toBe(1)
  expect(err).toMatch(/cairn-tune: POST http:.*completions: /)
  const answered = samples('gone').length - 1
  expect(answered).toBeLessThan(QUESTIONS)
  await serve(new URL(url).port)
  const resumed = await run(args('base', 'gone'))
  expect(resumed).toMatchObject({ code: 0, err: expect.stringContaining(`reused ${answered} answers`) })
  expect(results('gone')['results']).toEqual(results('whole')['results'])
})
