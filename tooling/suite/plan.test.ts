import { expect, test } from 'vitest'
import { planSuites } from './plan.mjs'

const passed = { agent: 'aaaa', tune: 'aaaa', faults: 'aaaa', tours: 'aaaa', cuda: 'aaaa' }
const runs = (changed: string[] | null, known: Record<string, string> = passed): string[] =>
  planSuites(known, () => changed)
    .filter(({ run }) => run)
    .map(({ suite }) => suite)

test('runs everything without a recorded success or with a different history', () => {
  const everything = ['agent', 'tune', 'faults', 'tours', 'cuda']
  expect(runs([], {})).toEqual(everything)
  expect(runs(null)).toEqual(everything)
})

test('runs everything after a change that both products may depend on', () => {
  for (const path of ['package-lock.json', 'vitest.config.ts', 'tooling/run.mjs', '.ci/run', 'README.md'])
    expect(runs([path]), path).toEqual(['agent', 'tune', 'faults', 'tours', 'cuda'])
})

test('skips the suite of the other product after a change of one product', () => {
  expect(runs(['agent/log/src/commit.ts'])).toEqual(['agent', 'faults', 'tours'])
  expect(runs(['agent/web/src/main.tsx'])).toEqual(['agent', 'tours'])
  expect(runs(['agent/log/src/commit.test.ts'])).toEqual(['agent'])
  expect(runs(['tune/serve/src/http/gate.ts'])).toEqual(['tune'])
  expect(runs(['tune/train/src/train.ts'])).toEqual(['tune', 'faults', 'cuda'])
  expect(runs(['dev/emulator/machine/warp.cc'])).toEqual(['tune', 'cuda'])
  expect(runs(['dev/bench/pairs.ts'])).toEqual([])
  expect(runs(['examples/watch.ts'])).toEqual(['agent'])
  expect(runs(['docs/tune/cuda.md'])).toEqual(['tune'])
  expect(runs(['docs/contract.md'])).toEqual(['agent'])
  expect(runs(['agent/log/src/commit.ts', 'tune/cli/src/main.ts'])).toEqual([
    'agent',
    'tune',
    'faults',
    'tours',
  ])
})

test('skips every suite without a change', () => {
  expect(runs([])).toEqual([])
})
