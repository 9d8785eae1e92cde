/**
 * `cairn-tune eval` against the recorded requests and scores of the real lm-evaluation-harness; see
 * reference/run_harness.sh.
 */
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { InputError } from '@cairn-tune/weights'
import {
  AskError,
  AUDIT_FILE,
  evaluate,
  extractAnswer,
  isExactMatch,
  FILTERS,
  type EvalOptions,
  type EvalProgress,
} from '../src/index.ts'
import { readReplies, startScriptedServer } from './reference/scripted-server.ts'

const read = (name: string) => readFileSync(new URL(`reference/${name}`, import.meta.url), 'utf8')
const questions = read('questions.jsonl')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line) as { question: string; answer: string })
const harness = JSON.parse(read('harness.json')) as {
  results: Record<string, number>
  judged: { index: number; filter: (typeof FILTERS)[number]; extracted: string; is_right: boolean }[]
  requests: Record<string, unknown>[]
}

let outputDir: string
beforeEach(async () => {
  outputDir = await mkdtemp(join(tmpdir(), 'cairn-eval-'))
})
afterEach(() => rm(outputDir, { recursive: true }))

const at = (url: string): EvalOptions => ({
  url,
  model: 'adapter',
  questions,
  source: 'questions.jsonl',
  outputDir,
  wait: async () => undefined,
})
const byPrompt = (a: Record<string, unknown>, b: Record<string, unknown>) =>
  String(a['prompt']) < String(b['prompt']) ? -1 : 1

/** Promise T6.2: Both answer filters extract what the harness extracts. */
test('both filters extract and judge the same answers as the harness', () => {
  const replies = readReplies()
  const ours = harness.judged.map(({ index, filter }) => {
    const { question = '', answer = '' } = questions[index] ?? {}
    const extracted = extractAnswer(filter, replies[`Question: ${question}\nAnswer:`] ?? 'no such reply')
    return { index, filter, extracted, is_right: isExactMatch(extracted, answer) }
  })
  expect(ours).toEqual(harness.judged)
  expect(ours).toHaveLength(2 * questions.length)
})

/**
 * Promise T6.2: An evaluation sends the requests of lm-evaluation-harness and reproduces its figures to the
 * last digit.
 */
test('sends the requests of the harness and reproduces its figures to the last digit', async () => {
  await using server = await startScriptedServer()
  const { scores } = await evaluate(at(server.url))
  expect(server.asked.map(({ body }) => body).toSorted(byPrompt)).toEqual(harness.requests)
  for (const filter of FILTERS) {
    expect(scores[filter].accuracy).toBe(harness.results[`exact_match,${filter}`])
    expect(scores[filter].stderr).toBe(harness.results[`exact_match_stderr,${filter}`])
  }
  const written = JSON.parse(await readFile(join(outputDir, 'results.json'), 'utf8')) as {
    results: { gsm8k: Record<string, number> }
  }
  expect(written.results.gsm8k).toMatchObject(harness.results)
})

test('runs at most `concurrency` requests at once', async () => {
  await using server = await startScriptedServer()
  await evaluate({ ...at(server.url), concurrency: 5 })
  expect(server.mostAtOnce()).toBeLessThanOrEqual(5)
})

/** Promise T6.2: An evaluation that is killed and resumed repeats no request. */
test('a killed evaluation resumes without repeating a request and ends with the same figures', async () => {
  const kill = new AbortController()
  await using server = await startScriptedServer()
  const onProgress = ({ done }: EvalProgress) => {
    if (done === 30) kill.abort(new Error('killed'))
  }
  await expect(
    evaluate({ ...at(server.url), concurrency: 4, onProgress, signal: kill.signal }),
  ).rejects.toThrow('killed')
  const answered = (await readFile(join(outputDir, AUDIT_FILE), 'utf8')).trim().split('\n').length - 1
  expect(answered).toBeGreaterThanOrEqual(30)
  expect(answered).toBeLessThan(questions.length)
  // A crash in the middle of a line leaves this behind.
  await appendFile(join(outputDir, AUDIT_FILE), '{"index":95,"question":"cut')
  const before = server.asked.length
  const { scores, resumed } = await evaluate(at(server.url))
  expect(resumed).toBe(answered)
  expect(server.asked.length - before).toBe(questions.length - answered)
  expect(scores['strict-match'].accuracy).toBe(harness.results['exact_match,strict-match'])
})

test('rejects the audit file of another evaluation', async () => {
  await using server = await startScriptedServer()
  await evaluate(at(server.url))
  await expect(evaluate({ ...at(server.url), model: 'other' })).rejects.toThrow(
    /contains another evaluation .* give another output path/,
  )
})

test('reuses an audit file without generations and never overwrites a foreign file', async () => {
  await using server = await startScriptedServer()
  await expect(evaluate({ ...at('http://127.0.0.1:1'), model: 'mistyped' })).rejects.toThrow(AskError)
  await evaluate(at(server.url))
  expect((await readFile(join(outputDir, AUDIT_FILE), 'utf8')).split('\n')).toHaveLength(questions.length + 2)
  const path = join(outputDir, AUDIT_FILE)
  await writeFile(path, '{"notes": "mine"}\n')
  await expect(evaluate(at(server.url))).rejects.toThrow(/contains another evaluation/)
  expect(await readFile(path, 'utf8')).toBe('{"notes": "mine"}\n')
})

test('retries a request twice and uses the third answer', async () => {
  const seen = new Map<unknown, number>()
  await using server = await startScriptedServer({
    trouble: ({ body }) => {
      const times = (seen.get(body['prompt']) ?? 0) + 1
      seen.set(body['prompt'], times)
      return times < 3 ? { status: 503, body: 'busy' } : undefined
    },
  })
  const { scores } = await evaluate(at(server.url))
  expect(server.asked).toHaveLength(3 * questions.length)
  expect(scores['strict-match'].accuracy).toBe(harness.results['exact_match,strict-match'])
})

test("three failures end the evaluation with the server's error and keep the finished answers", async () => {
  const broken = `Question: ${questions[40]?.question ?? ''}\nAnswer:`
  await using server = await startScriptedServer({
    trouble: ({ body }) => (body['prompt'] === broken ? { status: 500, body: 'out of cache' } : undefined),
  })
  await expect(evaluate({ ...at(server.url), concurrency: 2 })).rejects.toThrow(
    /POST .*completions: 500 out of cache/,
  )
  expect(server.asked.filter(({ body }) => body['prompt'] === broken)).toHaveLength(3)
  expect((await readFile(join(outputDir, AUDIT_FILE), 'utf8')).split('\n').length).toBeGreaterThan(20)
})

test('sends no retry if the server does not know the model', async () => {
  await using server = await startScriptedServer({
    trouble: () => ({ status: 404, body: '{"error":{"message":"The model `adapter` does not exist."}}' }),
  })
  await expect(evaluate({ ...at(server.url), concurrency: 1 })).rejects.toThrow(
    new InputError(
      `POST ${server.url}/v1/completions: 404 The model \`adapter\` does not exist. GET ${server.url}/v1/models lists the served models.`,
    ),
  )
  expect(server.asked).toHaveLength(1)
})

test.each([
  ['localhost:8001', /expected the URL of a server/],
  ['http://127.0.0.1:1', /POST http:\/\/127\.0\.0\.1:1\/v1\/completions: /],
])('an evaluation of %s reports the error', async (url, message) => {
  await expect(evaluate(at(url))).rejects.toThrow(message)
})
