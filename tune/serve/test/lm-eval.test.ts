/**
 * The requests that lm-evaluation-harness sends as `local-completions` with text prompts, and the parts of
 * the replies that it reads.
 */
import { afterAll, expect, test } from 'vitest'
import type { Completion } from '@cairn-tune/serve/protocol'
import { openFixture } from './server-fixture.ts'

const server = await openFixture({ maxModelLen: 512 })
afterAll(() => server.close())

const question =
  'Question: Ana are 75 de gogoși. Mihai îi mai dă 72 de gogoși. Câte gogoși are Ana acum?\nAnswer:'

test('a generation returns text by index, cut at the first stop string', async () => {
  const body = {
    prompt: question,
    model: 'wide',
    max_tokens: 24,
    temperature: 0,
    stop: ['Question:', '</s>', '<|im_end|>'],
    seed: 1234,
  }
  const { status, body: reply } = await server.post('/v1/completions', body)
  expect(status).toBe(200)
  const { choices } = reply as Completion
  expect(choices.map(({ index }) => index)).toEqual([0])
  expect(typeof choices[0]?.text).toBe('string')
  // A letter of the answer as a stop string cuts the same answer there.
  const letter = /[a-zA-Z]/.exec(choices[0]?.text ?? '')?.[0] ?? ''
  expect(letter).not.toBe('')
  const { body: cut } = await server.post('/v1/completions', { ...body, stop: [letter] })
  const [choice] = (cut as Completion).choices
  expect(choice?.text).toBe(choices[0]?.text.split(letter)[0])
  expect(choice).toMatchObject({ finish_reason: 'stop', stop_reason: letter })
})

/** Promise T6.2: The harness reads special tokens and the chat template from the server. */
test('/tokenizer_info returns special tokens as texts and the template, as vLLM does', async () => {
  const info = (await (await fetch(`${server.url}/tokenizer_info`)).json()) as Record<string, unknown>
  expect(info).toMatchObject({
    tokenizer_class: expect.any(String),
    eos_token: '<|im_end|>',
    pad_token: expect.any(String),
    chat_template: expect.stringContaining('<|im_start|>'),
    added_tokens_decoder: expect.objectContaining({ 2: '<|im_end|>' }),
  })
})

test('several prompts return their answers in order', async () => {
  const prompts = [question, 'Question: 2+2?\nAnswer:', 'x']
  const { body: together } = await server.post('/v1/completions', {
    prompt: prompts,
    model: 'wide',
    max_tokens: 8,
    temperature: 0,
  })
  const alone = []
  for (const prompt of prompts)
    alone.push(
      (
        (await server.post('/v1/completions', { prompt, model: 'wide', max_tokens: 8, temperature: 0 }))
          .body as Completion
      ).choices[0]?.text,
    )
  expect((together as Completion).choices.map(({ index, text }) => [index, text])).toEqual(
    alone.map((text, i) => [i, text]),
  )
})

/** Promise T6.2: The harness gets its log-likelihoods from the server. */
test('a log-likelihood request echoes the prompt with one more token and scores all but the first', async () => {
  const { body } = await server.post('/v1/completions', {
    prompt: question,
    model: 'base',
    temperature: 0,
    max_tokens: 1,
    logprobs: 1,
    seed: 1234,
    echo: true,
  })
  const { logprobs, text } = (body as Completion).choices[0]!
  const context = Buffer.byteLength(question)
  expect(text.startsWith(question)).toBe(true)
  expect(logprobs?.token_logprobs).toHaveLength(context + 1)
  // The harness scores the tokens of the continuation, without the generated one.
  const scores = logprobs?.token_logprobs.slice(context - 7, -1) ?? []
  const best =
    logprobs?.top_logprobs.slice(context - 7, -1).map(top => Math.max(...Object.values(top ?? {}))) ?? []
  expect(scores).toHaveLength(7)
  for (const [i, score] of scores.entries()) expect(score).toBeLessThanOrEqual(best[i] ?? NaN)
  expect(scores.reduce<number>((sum, score) => sum + (score ?? NaN), 0)).toBeLessThan(0)
})
