import { expect, test } from 'vitest'
import { contextWindowOf, costOf } from './catalog.ts'

const usage = {
  input_tokens: 1_000_000,
  output_tokens: 100_000,
  reasoning_tokens: 40_000,
  cache_read_tokens: 400_000,
}
const rates = { input: 1.25, output: 10, context_window: 400_000, reasoning: false }

test('cost counts cache reads and writes at their own rates', () => {
  expect(costOf(usage, 'openai/gpt-x', { ...rates, cache_read: 0.125 })).toEqual({
    cost_usd: 0.6 * 1.25 + 0.4 * 0.125 + 0.1 * 10,
  })
  expect(
    costOf({ ...usage, cache_write_tokens: 100_000 }, 'a/c', { ...rates, cache_read: 0.125, cache_write: 2 }),
  ).toEqual({ cost_usd: 0.5 * 1.25 + 0.4 * 0.125 + 0.1 * 2 + 0.1 * 10 })
})

test('without a cache rate, cached tokens cost as much as input tokens', () => {
  expect(costOf(usage, 'openai/gpt-x', rates)).toEqual({ cost_usd: 1.25 + 1 })
})

test('the cost of a few tokens is exact to ten decimals, without binary rounding errors', () => {
  expect(
    costOf({ input_tokens: 3, output_tokens: 0, reasoning_tokens: 0, cache_read_tokens: 0 }, 'm', {
      ...rates,
      input: 0.1,
    }),
  ).toEqual({ cost_usd: 3e-7 })
})

test('a model without both rates is unpriced, and a rate of zero is a price', () => {
  expect(costOf(usage, 'openai/gpt-x', undefined)).toEqual({ cost_unpriced_model: 'openai/gpt-x' })
  expect(costOf(usage, 'openai/gpt-x', { context_window: 1, reasoning: false, input: 1 })).toEqual({
    cost_unpriced_model: 'openai/gpt-x',
  })
  expect(costOf(usage, 'demo/scripted', { ...rates, input: 0, output: 0 })).toEqual({ cost_usd: 0 })
})

test('the context window comes from the catalogue, or else from a conservative default', () => {
  expect(contextWindowOf(rates)).toBe(400_000)
  expect(contextWindowOf(undefined)).toBe(128_000)
})
