/**
 * What must change no bit: other sequences in the batch, chunks of the prompt, cache reuse, and preemption.
 */
import { afterEach, expect, test } from 'vitest'
import { createRandom } from '@cairn-tune/train'
import type { Completion } from '@cairn-tune/serve/protocol'
import type { ServeOptions } from '@cairn-tune/serve'
import { openFixture, type Fixture } from './server-fixture.ts'

const open: Fixture[] = []
afterEach(async () => void (await Promise.all(open.splice(0).map(server => server.close()))))
async function start(options: Partial<ServeOptions> = {}): Promise<Fixture> {
  const server = await openFixture(options)
  open.push(server)
  return server
}

const { between } = createRandom(11)
const beginning = Array.from({ length: 90 }, () => between(3, 258))
/** Prompts that share prefixes of several lengths, for three models. */
const jobs = Array.from({ length: 30 }, (_, i) => ({
  model: ['base', 'wide', 'narrow'][i % 3],
  prompt: [
    ...beginning.slice(0, (i * 13) % 91),
    ...Array.from({ length: 1 + (i % 7) }, () => between(3, 258)),
  ],
}))

/**
 * Tokens and log-probabilities as raw text of the reply: JSON.parse of V8 13.6 sometimes reads a key of one
 * escaped character as a backslash.
 */
type Answer = string
async function ask(
  server: Fixture,
  { model, prompt }: (typeof jobs)[number],
  extra: object = {},
): Promise<Answer> {
  const body = {
    model,
    prompt,
    max_tokens: 12,
    temperature: 0,
    ignore_eos: true,
    logprobs: 3,
    return_token_ids: true,
    ...extra,
  }
  const text = await (
    await fetch(`${server.url}/v1/completions`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
  ).text()
  const choices = /"choices":(.*),"usage"/.exec(text)?.[1]
  if (choices === undefined) throw new Error(text)
  return choices
}
async function oneByOne(server: Fixture, extra: object = {}): Promise<Answer[]> {
  const answers = []
  for (const job of jobs) answers.push(await ask(server, job, extra))
  return answers
}
const atOnce = (server: Fixture, extra: object = {}) => Promise.all(jobs.map(job => ask(server, job, extra)))
const metric = async (server: Fixture, name: string) =>
  Number(
    new RegExp(`^cairn_tune_${name} (.+)$`, 'm').exec(
      await (await fetch(`${server.url}/metrics`)).text(),
    )?.[1],
  )

test.each(['f32', 'bf16'] as const)(
  '%s: tokens and log-probabilities have the same bits alone, in a full batch, in chunks, with ' +
    'reused prefixes, and after preemption',
  async dtype => {
    const plain = await start({ dtype, prefixCaching: false })
    const expected = await oneByOne(plain)
    expect(await atOnce(plain)).toEqual(expected)
    const reusing = await start({ dtype })
    expect(await oneByOne(reusing)).toEqual(expected)
    expect(await metric(reusing, 'prompt_tokens_cached_total')).toBeGreaterThan(400)
    expect(await atOnce(reusing)).toEqual(expected)
    const chunked = await start({ dtype, prefixCaching: false, maxBatchedTokens: 7, maxSequences: 5 })
    expect(await atOnce(chunked)).toEqual(expected)
    // 17 blocks: two or three of these sequences.
    const tight = await start({ dtype, kvCacheBytes: 17 * 16 * 2 * 2 * 64 * (dtype === 'f32' ? 4 : 2) })
    expect(await atOnce(tight)).toEqual(expected)
    expect(await metric(tight, 'kv_cache_usage_ratio')).toBe(0)
  },
)

/** Promise T6: No other sequence, chunk, cache reuse or preemption changes a bit of an answer. */
test('a full cache preempts requests without changing their answers', async () => {
  const prompts = Array.from({ length: 6 }, (_, i) => ({ model: 'base', prompt: beginning.slice(i, i + 20) }))
  const long = { max_tokens: 100 }
  const [plain, tight] = [await start(), await start({ kvCacheBytes: 17 * 16 * 2 * 2 * 64 * 4 })]
  const expected = await Promise.all(prompts.map(job => ask(plain, job, long)))
  expect(await Promise.all(prompts.map(job => ask(tight, job, long)))).toEqual(expected)
  expect(await metric(tight, 'preemptions_total')).toBeGreaterThan(0)
})

test('sampled tokens depend on the seed, not on the batch', async () => {
  const server = await start()
  const drawn = { temperature: 0.9, top_p: 0.95, top_k: 50, min_p: 0.01, seed: 3 }
  const expected = await oneByOne(server, drawn)
  expect(await atOnce(server, drawn)).toEqual(expected)
  expect(await oneByOne(server, { ...drawn, seed: 4 })).not.toEqual(expected)
})

test('log-probabilities of a prompt equal those of the same tokens when generated', async () => {
  const server = await start({ maxBatchedTokens: 9 })
  const job = { model: 'wide', prompt: beginning.slice(0, 30) }
  const { body } = await server.post('/v1/completions', {
    ...job,
    max_tokens: 5,
    temperature: 0,
    ignore_eos: true,
    logprobs: 1,
    return_token_ids: true,
  })
  const answer = (body as Completion).choices[0]!
  const whole = [...job.prompt, ...(answer.token_ids ?? [])]
  const { body: echoed } = await server.post('/v1/completions', {
    model: 'wide',
    prompt: whole,
    max_tokens: 1,
    temperature: 0,
    logprobs: 1,
    echo: true,
  })
  const { logprobs } = (echoed as Completion).choices[0]!
  expect(logprobs?.tokens).toHaveLength(36)
  expect(logprobs?.token_logprobs[0]).toBeNull()
  expect(logprobs?.top_logprobs[0]).toBeNull()
  expect(logprobs?.token_logprobs.slice(30, 35)).toEqual(answer.logprobs?.token_logprobs)
  // Greedy tokens are the most likely ones, as harnesses check: the largest of the listed values, bit for
  // bit.
  for (let i = 30; i < 35; i++)
    expect(logprobs?.token_logprobs[i]).toBe(Math.max(...Object.values(logprobs?.top_logprobs[i] ?? {})))
  const { body: none } = await server.post('/v1/completions', {
    model: 'wide',
    prompt: whole,
    max_tokens: 0,
    logprobs: 1,
    echo: true,
  })
  expect((none as Completion).choices[0]?.logprobs?.token_logprobs).toEqual(
    logprobs?.token_logprobs.slice(0, 35),
  )
})
