/**
 * A server on the emulated card: the greedy tokens of transformers and PEFT, which the processor's answers
 * also have, with the base and two adapters in one batch.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import { findNvcc, nvccCandidates } from '@cairn-tune/native'
import type { Completion } from '@cairn-tune/serve/protocol'
import { openFixture, type Fixture } from './server-fixture.ts'

const MODELS = ['base', 'wide', 'narrow'] as const
type Answers = Record<(typeof MODELS)[number], { tokens: number[][]; first_logprobs: number[] }>
const golden = JSON.parse(readFileSync(new URL('reference/greedy.json', import.meta.url), 'utf8')) as {
  prompts: number[][]
} & Answers

const COUNT = 4

async function complete({ post }: Fixture, model: string, prompt: number[]): Promise<Completion> {
  const request = { model, prompt, max_tokens: COUNT, temperature: 0, ignore_eos: true, logprobs: 2 }
  const { status, body } = await post('/v1/completions', { ...request, return_token_ids: true })
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

function serveOnCard(): void {
  let server: Fixture
  beforeAll(async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    server = await openFixture({ device: 'cuda' })
  }, 600_000)
  afterAll(async () => {
    await server.close()
    vi.unstubAllEnvs()
  })

  /** Promise T6: Greedy tokens on a card equal those of transformers and PEFT, with several adapters at once. */
  test('base and adapters in one batch give the tokens of the reference', async () => {
    const prompt = golden.prompts[0] ?? []
    const replies = await Promise.all(MODELS.map(model => complete(server, model, prompt)))
    for (const [i, model] of MODELS.entries()) {
      const [choice] = replies[i]?.choices ?? []
      expect(choice?.token_ids, model).toEqual(golden[model].tokens[0]?.slice(0, COUNT))
      const [first] = choice?.logprobs?.token_logprobs ?? []
      expect(first, model).toBeCloseTo(golden[model].first_logprobs[0] ?? NaN, 3)
    }
  }, 600_000)

  test('names the number of cards if the requested one does not exist', async () => {
    await expect(openFixture({ device: 'cuda:7' })).rejects.toThrow(
      '--device cuda:7: GPU 7 does not exist; the driver lists 1',
    )
    await expect(openFixture({ device: 'gpu' })).rejects.toThrow(
      '--device must be cpu, cuda or cuda:1, got "gpu"',
    )
  })
}

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  describe('on the emulated card', serveOnCard)
} else {
  test('without nvcc the server reports that it needs nvcc', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(openFixture({ device: 'cuda' })).rejects.toThrow('requires nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
}
