/**
 * What a session has used of its budget, as a fold of its log: its own calls, the usage of its children, and
 * the reservations for running children (contract 14.4). The creator of a root gives it a budget; a parent
 * gives its child a part of its own.
 */
import { factsOf, type SessionBudget, type SessionEvent } from '@cairn/protocol'
import { usageOf } from '../usage.ts'

export type Reserved = { readonly worker_id: string; readonly tokens: number; readonly cost_usd: number }
export type Spending = {
  /** Own calls, plus ended children with their subtrees. */
  readonly tokens: number
  readonly cost_usd: number
  /** Reservations for running children. */
  readonly reserved: readonly Reserved[]
  /** RFC 3339: when a runner first claimed the session; null: never. */
  readonly since: string | null
}
export const noSpending: Spending = { tokens: 0, cost_usd: 0, reserved: [], since: null }

export function foldSpending(spending: Spending, event: SessionEvent): Spending {
  switch (event.type) {
    case 'worker.spawned': {
      const { worker_id, budget } = event.data
      if (budget === undefined) return spending
      const { max_tokens: tokens = 0, max_cost_usd: cost_usd = 0 } = budget
      return { ...spending, reserved: [...spending.reserved, { worker_id, tokens, cost_usd }] }
    }
    case 'worker.complete':
    case 'worker.failed': {
      const { worker_id } = event.data
      const reserved = spending.reserved.filter(each => each.worker_id !== worker_id)
      return add({ ...spending, reserved }, event)
    }
    case 'harness.wake':
      return spending.since === null ? { ...spending, since: event.created_at } : spending
    default:
      return factsOf(event.type).usage ? add(spending, event) : spending
  }
}

function add(spending: Spending, event: SessionEvent): Spending {
  const { input_tokens, output_tokens, cost_usd } = usageOf(event)
  return {
    ...spending,
    tokens: spending.tokens + input_tokens + output_tokens,
    cost_usd: spending.cost_usd + cost_usd,
  }
}

/** The rest of a budget; undefined where the budget sets no limit. */
export type Left = { tokens?: number; cost_usd?: number; minutes?: number }

/** `now` in epoch milliseconds. */
export function leftOf(budget: SessionBudget, spending: Spending, now: number): Left {
  const { max_tokens, max_cost_usd, max_minutes } = budget
  const sum = (of: (each: Reserved) => number): number =>
    spending.reserved.reduce((total, each) => total + of(each), 0)
  return {
    ...(max_tokens === undefined ? {} : { tokens: max_tokens - spending.tokens - sum(each => each.tokens) }),
    ...(max_cost_usd === undefined
      ? {}
      : { cost_usd: max_cost_usd - spending.cost_usd - sum(each => each.cost_usd) }),
    ...(max_minutes === undefined
      ? {}
      : { minutes: max_minutes - (spending.since === null ? 0 : now - Date.parse(spending.since)) / 60_000 }),
  }
}

/** The largest used fraction of any limit of the budget: 0 to 1, or more when overdrawn. */
export function partUsed(budget: SessionBudget, spending: Spending, now: number): number {
  const left = leftOf(budget, spending, now)
  const part = (of: number | undefined, all: number | undefined): number =>
    of === undefined || all === undefined ? 0 : 1 - of / all
  return Math.max(
    part(left.tokens, budget.max_tokens),
    part(left.cost_usd, budget.max_cost_usd),
    part(left.minutes, budget.max_minutes),
  )
}

/** With fewer tokens a child cannot do useful work. */
export const MIN_TOKENS = 2000

/**
 * The budget of one more child: what was requested, but at most its share of what is left. Null: too little
 * is left.
 */
export function shareOf(left: Left, asked: SessionBudget, places: number): SessionBudget | null {
  const least = (...values: (number | undefined)[]): number | undefined => {
    const given = values.filter(value => value !== undefined)
    return given.length === 0 ? undefined : Math.min(...given)
  }
  const share = (value: number | undefined): number | undefined =>
    value === undefined ? undefined : value / Math.max(1, places)
  const tokens = least(asked.max_tokens, share(left.tokens))
  const cost_usd = least(asked.max_cost_usd, share(left.cost_usd))
  const minutes = least(asked.max_minutes, left.minutes)
  const isEnough =
    (tokens === undefined || tokens >= MIN_TOKENS) &&
    (cost_usd === undefined || cost_usd > 0) &&
    (minutes === undefined || minutes > 0)
  return isEnough
    ? {
        ...(tokens === undefined ? {} : { max_tokens: Math.floor(tokens) }),
        ...(cost_usd === undefined ? {} : { max_cost_usd: cost_usd }),
        ...(minutes === undefined ? {} : { max_minutes: minutes }),
      }
    : null
}
