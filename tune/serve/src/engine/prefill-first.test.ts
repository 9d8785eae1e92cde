import { expect, test } from 'vitest'
import { createPrefillFirst } from './prefill-first.ts'
import type { Chunk } from './scheduler.ts'
import type { Sampling } from './sequence.ts'

const sampling: Sampling = {
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  seed: [0, 0],
  maxTokens: 9,
  minTokens: 0,
  endTokens: [],
  presencePenalty: 0,
  frequencyPenalty: 0,
  repetitionPenalty: 1,
  logitBias: new Map(),
  allowed: undefined,
  badWords: [],
  logprobs: undefined,
  promptLogprobs: false,
}

/**
 * A chunk of `count` rows of a sequence with a prompt of `promptLength` tokens, of which `computed` are
 * cached, and `generated` more.
 */
const chunk = (
  promptLength: number,
  { computed = 0, generated = 0, count }: { computed?: number; generated?: number; count?: number } = {},
): Chunk => ({
  count: count ?? promptLength + generated - computed,
  sequence: {
    promptLength,
    computed,
    sampling,
    adapter: undefined,
    form: undefined,
    listener: { onToken: () => false, onEnd: () => undefined },
    ids: Array.from({ length: promptLength + generated }, () => 0),
    blocks: [],
    prefixes: [],
    cachedTokens: undefined,
    prompt: [],
    isComplete: false,
    isEnded: false,
    clock: { token: () => undefined, end: () => undefined },
  },
})
const generating = () => chunk(5, { computed: 5, generated: 1 })
const crowd = Array.from({ length: 50 }, generating)

/** A scheduler that has recorded steps of all requests at 5 ms, and of new requests alone at `alone` ms. */
function seasoned(alone: number) {
  const prefillFirst = createPrefillFirst()
  prefillFirst.record(crowd, false, 5)
  prefillFirst.record([chunk(3)], true, alone)
  return prefillFirst
}

test('runs a new request with few rows alone, before all others', () => {
  const fresh = chunk(3)
  for (const prefillFirst of [createPrefillFirst(), seasoned(1)])
    expect(prefillFirst.choose([...crowd, fresh])).toEqual([fresh])
})

test.each([
  ['no request is new', crowd],
  ['all are new', [chunk(3), chunk(4)]],
  ['the prompts are long', [...crowd, chunk(40), chunk(40)]],
  ['the prompt would not be through', [...crowd, chunk(60, { count: 30 })]],
])('runs all requests together if %s', (_, plan) => {
  expect(seasoned(1).choose(plan)).toBe(plan)
})

test('runs no request alone if that is not faster, but tries again later', () => {
  const prefillFirst = seasoned(4)
  const plan = [...crowd, chunk(3)]
  const tries = Array.from({ length: 10 }, () => prefillFirst.choose(plan) !== plan)
  expect(tries[0]).toBe(false)
  expect(tries.at(-1)).toBe(true)
})

/** Promise T6: Prefill-only steps take at most a tenth of the engine's time. */
test('steps of new requests alone take at most a tenth of the time', () => {
  const prefillFirst = seasoned(1)
  const plan = [...crowd, chunk(3)]
  let [alone, all] = [0, 0]
  for (let i = 0; i < 10_000; i++) {
    const run = prefillFirst.choose(plan)
    if (run === plan) all += 5
    else alone += 1
    // A step planned while new requests run alone is the step of the others.
    prefillFirst.record(run === plan ? crowd : run, run !== plan, run === plan ? 5 : 1)
  }
  expect(alone / (alone + all)).toBeLessThan(0.1)
  expect(alone / (alone + all)).toBeGreaterThan(0.08)
})
