/** A quantised base answers nearly like the plain one, with and without an adapter. */
import { expect, test } from 'vitest'
import type { Completion } from '@cairn-tune/serve/protocol'
import { QUANTIZATIONS, type Quantization } from '@cairn-tune/serve'
import { openFixture } from './server-fixture.ts'

const prompt = 'Ana are 75 de gogoși.'

async function promptLogprobs(quantization: Quantization | undefined, model: string): Promise<number[]> {
  const server = await openFixture(quantization ? { quantization } : {})
  const { status, body } = await server.post('/v1/completions', {
    model,
    prompt,
    max_tokens: 0,
    echo: true,
    logprobs: 0,
  })
  await server.close()
  expect(status).toBe(200)
  return (body as Completion).choices[0]?.logprobs?.token_logprobs.slice(1).map(Number) ?? []
}

const meanGap = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, value, i) => sum + Math.abs(value - (b[i] ?? NaN)), 0) / a.length

test('skipped layers stay unquantised, and skipping more layers than exist is rejected', async () => {
  const logprobs = async (options: Parameters<typeof openFixture>[0]) => {
    const server = await openFixture(options)
    const { body } = await server.post('/v1/completions', {
      model: 'wide',
      prompt,
      max_tokens: 0,
      echo: true,
      logprobs: 0,
    })
    await server.close()
    return (body as Completion).choices[0]?.logprobs?.token_logprobs.slice(1).map(Number) ?? []
  }
  const plain = await logprobs({})
  expect(await logprobs({ quantization: 'nf4', skipQuantFirstLayers: 1, skipQuantLastLayers: 1 })).toEqual(
    plain,
  )
  const one = await logprobs({ quantization: 'nf4', skipQuantLastLayers: 1 })
  expect(one).not.toEqual(plain)
  expect(one).not.toEqual(await logprobs({ quantization: 'nf4' }))
  await expect(openFixture({ quantization: 'nf4', skipQuantLastLayers: 3 })).rejects.toThrow(
    /3 layers would stay unchanged, but .* has only 2/,
  )
})

test.each(Object.keys(QUANTIZATIONS) as Quantization[])('%s', async quantization => {
  for (const model of ['base', 'wide']) {
    const [plain, quantised] = [
      await promptLogprobs(undefined, model),
      await promptLogprobs(quantization, model),
    ]
    expect(quantised).toHaveLength(Buffer.byteLength(prompt) - 1)
    const gap = meanGap(plain, quantised)
    // Random weights amplify an error more than trained ones; log-probabilities here go down to −8.
    expect(gap).toBeGreaterThan(0)
    expect(gap).toBeLessThan(quantization === 'fp8' ? 0.5 : 1.5)
  }
})
