/**
 * Budget rules over the logs of a tree (contract 14.4): no model call starts once a budget is used up, and
 * reservations for children never exceed what is left. Part of `checkTree`.
 */
import { factsOf, type SessionBudget, type SessionEvent } from '@cairn/protocol'

type Sum = { tokens: number; cost_usd: number }
const EPSILON = 1e-9

const number = (value: unknown): number => (typeof value === 'number' ? value : 0)
const usedBy = ({ data }: SessionEvent): Sum => {
  const { input_tokens, output_tokens, cost_usd } = data as Record<string, unknown>
  return { tokens: number(input_tokens) + number(output_tokens), cost_usd: number(cost_usd) }
}

/** `budget` is the budget that the session was given. */
export function checkBudget(id: string, log: readonly SessionEvent[], budget: SessionBudget): string[] {
  const found: string[] = []
  const used: Sum = { tokens: 0, cost_usd: 0 }
  const reserved = new Map<string, Sum>()
  const over = (): string[] => {
    const sums = [...reserved.values(), used]
    const tokens = sums.reduce((sum, each) => sum + each.tokens, 0)
    const cost_usd = sums.reduce((sum, each) => sum + each.cost_usd, 0)
    const { max_tokens = Infinity, max_cost_usd = Infinity } = budget
    return [
      ...(tokens > max_tokens ? [`${tokens} of ${max_tokens} tokens`] : []),
      ...(cost_usd > max_cost_usd + EPSILON ? [`${cost_usd} of ${max_cost_usd} USD`] : []),
    ]
  }
  for (const event of log) {
    if (event.type === 'worker.spawned') {
      const { worker_id, kind, budget: given } = event.data
      reserved.set(worker_id, { tokens: given?.max_tokens ?? 0, cost_usd: given?.max_cost_usd ?? 0 })
      // A task's budget is fixed when it is created and covers all its attempts.
      for (const what of kind === 'task' ? [] : over())
        found.push(`${id}: event ${event.id} reserves more than its budget has: ${what}`)
    } else if (event.type === 'llm.request') {
      for (const what of over()) found.push(`${id}: event ${event.id} calls a model past its budget: ${what}`)
    }
    const isOutcome = event.type === 'worker.complete' || event.type === 'worker.failed'
    if (isOutcome) reserved.delete(event.data.worker_id)
    if (isOutcome || factsOf(event.type).usage) {
      const { tokens, cost_usd } = usedBy(event)
      used.tokens += tokens
      used.cost_usd += cost_usd
    }
  }
  return found
}
