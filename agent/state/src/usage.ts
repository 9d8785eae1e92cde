/** Usage of model calls, read from the events that carry it by contract. */
import type { SessionEvent } from '@cairn/protocol'

export type Usage = { input_tokens: number; output_tokens: number; cost_usd: number }

export const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, cost_usd: 0 }

const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

/** The usage of an event; missing keys count as 0. */
export function usageOf({ data }: SessionEvent): Usage {
  const { input_tokens, output_tokens, cost_usd } = data as Record<string, unknown>
  return {
    input_tokens: number(input_tokens),
    output_tokens: number(output_tokens),
    cost_usd: number(cost_usd),
  }
}

export const addUsage = (sum: Usage, more: Usage): Usage => ({
  input_tokens: sum.input_tokens + more.input_tokens,
  output_tokens: sum.output_tokens + more.output_tokens,
  cost_usd: sum.cost_usd + more.cost_usd,
})
