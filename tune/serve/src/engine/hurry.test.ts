import { expect, test } from 'vitest'
import { createHurry } from './hurry.ts'
import type { Share } from './scheduler.ts'
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
  logprobs: undefined,
  promptLogprobs: false,
}

/**
 * A share of `count` rows of a sequence with a prompt of `promptLength` tokens, of which `computed` are in
 * the cache, and `generated` more.
 */
const share = (
  promptLength: number,
  { computed = 0, generated = 0, count }: { computed?: number; generated?: number; count?: number } = {},
): Share => ({
  count: count ?? promptLength + generated - computed,
  sequence: {
    promptLength,
    computed,
    sampling,
    adapter: undefined,
    listener: { onToken: () => false, onEnd: () => undefined },
    ids: Array.from({ length: promptLength + generated }, () => 0),
    blocks: [],
    prefixes: [],
    cachedTokens: undefined,
    prompt: [],
    isComplete: false,
    isEnded: false,
  },
})
const generating = () => share(5, { computed: 5, generated: 1 })
const crowd = Array.from({ length: 50 }, generating)

/** One that has seen passes of all take 5 ms, and of newcomers alone `alone` ms. */
function seasoned(alone: number) {
  const hurry = createHurry()
  hurry.record(crowd, false, 5)
  hurry.record([share(3)], true, alone)
  return hurry
}

test('a newcomer with few rows goes alone before all others', () => {
  const newcomer = share(3)
  for (const hurry of [createHurry(), seasoned(1)])
    expect(hurry.choose([...crowd, newcomer])).toEqual([newcomer])
})

test.each([
  ['nobody is new', crowd],
  ['all are new', [share(3), share(4)]],
  ['the prompts are long', [...crowd, share(40), share(40)]],
  ['the prompt would not be through', [...crowd, share(60, { count: 30 })]],
])('everybody goes together where %s', (_, plan) => {
  expect(seasoned(1).choose(plan)).toBe(plan)
})

test('nobody goes alone where that is no shorter, until it is tried again', () => {
  const hurry = seasoned(4)
  const plan = [...crowd, share(3)]
  const tries = Array.from({ length: 10 }, () => hurry.choose(plan) !== plan)
  expect(tries[0]).toBe(false)
  expect(tries.at(-1)).toBe(true)
})

test('passes of newcomers take a tenth of the time at most', () => {
  const hurry = seasoned(1)
  const plan = [...crowd, share(3)]
  let [alone, all] = [0, 0]
  for (let pass = 0; pass < 10_000; pass++) {
    const run = hurry.choose(plan)
    if (run === plan) all += 5
    else alone += 1
    // What is planned while others go alone is the pass of the others.
    hurry.record(run === plan ? crowd : run, run !== plan, run === plan ? 5 : 1)
  }
  expect(alone / (alone + all)).toBeLessThan(0.1)
  expect(alone / (alone + all)).toBeGreaterThan(0.08)
})
