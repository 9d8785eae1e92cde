/**
 * The usage in a child's outcome equals the usage in the log of its whole subtree up to its end (contract
 * 14.4). Part of `checkTree`.
 */
import { factsOf, type SessionEvent } from '@cairn/protocol'

type Used = { input_tokens: number; output_tokens: number; cost_usd: number }

const number = (value: unknown): number => (typeof value === 'number' ? value : 0)
/** Tolerance for sums of dollars, which are floats. */
const EPSILON = 1e-9

/** `end` is the first end of the child, which its outcome reports. */
export function checkUsage(
  id: string,
  log: readonly SessionEvent[],
  end: SessionEvent,
  outcome: SessionEvent,
): string[] {
  const used: Used = { input_tokens: 0, output_tokens: 0, cost_usd: 0 }
  for (const event of log) {
    if (event.id > end.id) break
    const isOutcome = event.type === 'worker.complete' || event.type === 'worker.failed'
    if (isOutcome || factsOf(event.type).usage) add(used, event)
  }
  const told: Used = { input_tokens: 0, output_tokens: 0, cost_usd: 0 }
  add(told, outcome)
  return (Object.keys(used) as (keyof Used)[]).flatMap(what =>
    Math.abs(used[what] - told[what]) > EPSILON
      ? [`${id}: its outcome says ${told[what]} ${what}, its log ${used[what]}`]
      : [],
  )
}

function add(sum: Used, { data }: SessionEvent): void {
  const { input_tokens, output_tokens, cost_usd } = data as Record<string, unknown>
  sum.input_tokens += number(input_tokens)
  sum.output_tokens += number(output_tokens)
  sum.cost_usd += number(cost_usd)
}
