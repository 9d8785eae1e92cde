/** A base whose projections are stored quantised answers nearly as the plain one, with and without an adapter. */
import { expect, test } from 'vitest'
import type { Completion } from '@cairn-tune/serve/protocol'
import { QUANTIZATIONS, type Quantization } from '@cairn-tune/serve'
import { openFixture } from './server-fixture.ts'

const prompt = 'Ana are 75 de gogoși.'

async function promptLogprobs(quantization: Quantization | undefined, model: string): Promise<number[]> {
  const server = await openFixture(quantization ? { quantization } : {})
  const { status, body } = await server.post('/v1/completions', { model, prompt, max_tokens: 0, echo: true, logprobs: 0 })
  await server.close()
  expect(status).toBe(200)
  return (body as Completion).choices[0]?.logprobs?.token_logprobs.slice(1).map(Number) ?? []
}

const meanGap = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, i) => sum + Math.abs(value - (b[i] ?? NaN)), 0) / a.length

test.each(Object.keys(QUANTIZATIONS) as Quantization[])('%s', async quantization => {
  for (const model of ['base', 'wide']) {
    const [plain, quantised] = [await promptLogprobs(undefined, model), await promptLogprobs(quantization, model)]
    expect(quantised).toHaveLength(Buffer.byteLength(prompt) - 1)
    const gap = meanGap(plain, quantised)
    // Random weights spread an error more than trained ones do; log-probabilities here go down to −8.
    expect(gap).toBeGreaterThan(0)
    expect(gap).toBeLessThan(quantization === 'fp8' ? 0.5 : 1.5)
  }
})
