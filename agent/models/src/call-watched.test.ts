import { expect, test } from 'vitest'
import { callWatched, MAX_LESSONS } from './call-watched.ts'
import { ModelError, type ModelAnswer } from './provider.ts'
import type { ResolvedModel } from './registry.ts'
import { PROFILES } from './servers/profiles.ts'

const answer: ModelAnswer = {
  message: { role: 'assistant', content: 'ok' },
  reasoning: '',
  usage: { input_tokens: 1, output_tokens: 1, reasoning_tokens: 0, cache_read_tokens: 0 },
  finish_reason: 'stop',
  model: 'm',
}
const lesson = () =>
  new ModelError('provider_error', 'learned', {
    retryable: true,
    learned: [{ fact: 'vision', value: false, reason: 'no images', learned_at: '2026-01-01T00:00:00Z' }],
  })

/** A model that refuses this many requests, and the number of requests that it got. */
function refusing(times: number) {
  let calls = 0
  const served: ResolvedModel = {
    name: 'o/m',
    model: 'm',
    rates: undefined,
    contextWindow: 1000,
    maxOutputTokens: undefined,
    reasoning: false,
    scripted: false,
    serverProfile: () => PROFILES.compatible,
    provider: {
      call: () => (++calls <= times ? Promise.reject(lesson()) : Promise.resolve(answer)),
    },
  }
  return { served, calls: () => calls }
}
const deps = {
  clock: {
    now: () => 0,
    monotonic: () => 0,
    after: () => () => undefined,
  },
  signal: new AbortController().signal,
  random: () => 0,
  report: () => undefined,
  limits: { llm_stale_s: 1, llm_stale_reasoning_s: 1, llm_call_s: 1, llm_retries: 0 },
}
const request = { model: 'm', messages: [], tools: [] }

test('what a refusal teaches is used at once and is not a retry', async () => {
  const model = refusing(5)
  expect(await callWatched(deps, model.served, request)).toBe(answer)
  expect(model.calls()).toBe(6)
})

test('a server that refuses everything is given up on', async () => {
  const model = refusing(Number.POSITIVE_INFINITY)
  await expect(callWatched(deps, model.served, request)).rejects.toThrow('learned')
  expect(model.calls()).toBe(MAX_LESSONS + 1)
})
