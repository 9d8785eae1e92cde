/**
 * Replays every request that the real lm-evaluation-harness sent to our server: the same answers, and the
 * figures that it printed (reference/record-replay.ts).
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer, type RunningServer } from '@cairn-tune/serve'
import { evaluate, extractAnswer, isExactMatch, FILTERS, type Question } from '../src/index.ts'
import { MODELS, writeReplayModel, type Recorded, type Recording } from './reference/replay-model.ts'

const read = (name: string) => readFileSync(new URL(`reference/${name}`, import.meta.url), 'utf8')
const questions = read('replay-questions.jsonl')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line) as Question)
const { models, requests, asked } = JSON.parse(read('replay.json')) as Recording

let directory: string
let server: RunningServer
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-replay-'))
  const { base, adapter } = await writeReplayModel(directory)
  // The options of `cairn-tune serve` in the recording.
  server = await startServer({
    model: base,
    servedModelNames: ['base'],
    loraModules: { adapter },
    enableLora: true,
    dtype: 'f32',
    maxModelLen: 2048,
    maxLoraRank: 64,
    port: 0,
    threads: 1,
    kvCacheBytes: 64 * 2 ** 20,
  })
})
afterAll(async () => {
  await server.close()
  await rm(directory, { recursive: true })
})

type Reply = {
  choices: { index: number; text: string; finish_reason: string }[]
  usage: { prompt_tokens: number; completion_tokens: number }
}

async function repeat({ method, path, headers, body }: Recorded) {
  const response = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) })
  const { choices, usage } = (await response.json()) as Reply
  return {
    status: response.status,
    choices: choices.map(({ index, text, finish_reason }) => ({ index, text, finish_reason })),
    usage: [usage.prompt_tokens, usage.completion_tokens],
  }
}

/**
 * Promise T6.2: The harness's own requests, sent concurrently, return the answers that the harness received.
 */
test('concurrent requests to base and adapter return the answers that the harness received', async () => {
  const replies = await Promise.all(requests.map(repeat))
  expect(replies).toEqual(
    requests.map(({ status, text, finish_reason, usage }) => ({
      status,
      choices: [{ index: 0, text, finish_reason }],
      usage,
    })),
  )
  expect(requests).toHaveLength(MODELS.length * questions.length)
})

test("the harness's other requests return the same status", async () => {
  for (const { method, path, status } of asked)
    expect((await fetch(server.url + path, { method })).status, `${method} ${path}`).toBe(status)
  expect(asked.length).toBeGreaterThan(0)
})

/** Promise T6.2: An evaluation of the real server gives the figures that the harness printed. */
test.each(MODELS)(
  '%s: an evaluation of the server reproduces every digit of the figures of the harness',
  async model => {
    const { scores } = await evaluate({
      url: server.url,
      model,
      questions,
      source: 'replay-questions.jsonl',
      outputDir: join(directory, `eval-${model}`),
    })
    const figures = Object.fromEntries(
      FILTERS.flatMap(filter => [
        [`exact_match,${filter}`, scores[filter].accuracy],
        [`exact_match_stderr,${filter}`, scores[filter].stderr],
      ]),
    )
    expect(figures).toEqual(models[model]?.results)
    // Between 0 and 1, or the figures would agree trivially.
    for (const filter of FILTERS)
      expect(scores[filter].accuracy).toSatisfy((share: number) => share > 0.1 && share < 0.9)
  },
)

test.each(MODELS)('%s: both filters extract and judge every recorded answer as the harness did', model => {
  const texts = new Map(
    requests.filter(({ body }) => body.model === model).map(({ body, text }) => [body.prompt, text]),
  )
  const ours = (models[model]?.judged ?? []).map(({ index, filter }) => {
    const { question = '', answer = '' } = questions[index] ?? {}
    const extracted = extractAnswer(
      filter as (typeof FILTERS)[number],
      texts.get(`Question: ${question}\nAnswer:`) ?? 'not recorded',
    )
    return { index, filter, extracted, is_right: isExactMatch(extracted, answer) }
  })
  expect(ours).toEqual(models[model]?.judged)
  expect(ours).toHaveLength(FILTERS.length * questions.length)
})
