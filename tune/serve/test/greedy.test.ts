/** Greedy answers against transformers and PEFT, alone and in mixed batches of fifty. */
import { readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { everyNth } from '@cairn-tune/ops/test/sample'
import type { Completion } from '@cairn-tune/serve/protocol'
import { openFixture } from './server-fixture.ts'

type Answers = { tokens: number[][]; first_logprobs: number[] }
const golden = JSON.parse(readFileSync(new URL('reference/greedy.json', import.meta.url), 'utf8')) as {
  prompts: number[][]
} & Record<'base' | 'wide' | 'narrow', Answers>
const models = ['base', 'wide', 'narrow'] as const
/** `npm test` runs fifty of the two hundred prompts. */
const prompts = everyNth(4, [...golden.prompts.entries()])

const server = await openFixture()
afterAll(() => server.close())

/**
 * Requests log-probabilities, which identify tokens by name; ids beyond the tokenizer's have no name, so the
 * ids are returned separately.
 */
async function complete(model: string, prompt: number[] | number[][]): Promise<Completion> {
  const { status, body } = await server.post('/v1/completions', {
    model,
    prompt,
    max_tokens: 16,
    temperature: 0,
    ignore_eos: true,
    logprobs: 0,
    return_token_ids: true,
  })
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}
const tokensOf = ({ choices }: Completion) => choices.map(({ token_ids }) => token_ids)

test.each(models)('%s: prompts give the tokens of the reference, one at a time', async model => {
  for (const [i, prompt] of prompts) {
    const reply = await complete(model, prompt)
    expect(tokensOf(reply)[0], `prompt ${i}`).toEqual(golden[model].tokens[i])
    expect(reply.choices[0]?.logprobs?.token_logprobs[0]).toBeCloseTo(
      golden[model].first_logprobs[i] ?? NaN,
      3,
    )
  }
})

/** Promise T6: Greedy tokens equal those of transformers and PEFT, alone and in mixed batches of fifty. */
test('prompts give the same tokens fifty at a time, with base and adapters in one batch', async () => {
  const jobs = prompts.flatMap(([i, prompt]) => models.map(model => ({ prompt, i, model })))
  const work = async () => {
    for (let job = jobs.pop(); job; job = jobs.pop())
      expect(tokensOf(await complete(job.model, job.prompt))[0], `${job.model} ${job.i}`).toEqual(
        golden[job.model].tokens[job.i],
      )
  }
  await Promise.all(Array.from({ length: 50 }, work))
})
