/** Budgets for the workers of one call: their shares of what is left to the session that creates them. */
import { AgentConfig, type SessionBudget } from '@cairn/protocol'
import { budgetOf } from '@cairn/sessions'
import { MIN_TOKENS, type Left, leftOf, shareOf, type Spending } from '@cairn/state'
import type { SpawnContext } from './spawn-context.ts'

/** Budgets of `count` workers, created one after the other; null: too little is left for them. */
export function shareBudget(place: SpawnContext, count: number): SessionBudget[] | null {
  const { limits, claimed, runner } = place
  const { children } = claimed.log.position()
  const now = runner.clock.now()
  const shares: SessionBudget[] = []
  for (let given: Given[] = budgetsOf(place); shares.length < count;) {
    const places = limits.max_open - children.open.length - shares.length
    const left = minOf(given.map(({ budget, spending }) => leftOf(budget, spending, now)))
    const share = shareOf(left, askedFor(place), places)
    if (share === null) return null
    shares.push(share)
    const { max_tokens: tokens = 0, max_cost_usd: cost_usd = 0 } = share
    given = given.map(({ budget, spending }) => ({
      budget,
      spending: { ...spending, reserved: [...spending.reserved, { worker_id: '', tokens, cost_usd }] },
    }))
  }
  return shares
}

type Given = { budget: SessionBudget; spending: Spending }

/** The limits of the session: its own budget, and that of the mission that it leads. */
function budgetsOf({ session, claimed }: SpawnContext): Given[] {
  const { spending, mission } = claimed.log.position()
  return [
    { budget: budgetOf(session) ?? {}, spending },
    ...(mission?.status === 'active' && mission.budget !== null
      ? [{ budget: mission.budget, spending: mission.spending }]
      : []),
  ]
}

function minOf(lefts: readonly Left[]): Left {
  const min = (key: keyof Left): Left => {
    const given = lefts.flatMap(left => left[key] ?? [])
    return given.length === 0 ? {} : { [key]: Math.min(...given) }
  }
  return { ...min('tokens'), ...min('cost_usd'), ...min('minutes') }
}

function askedFor({ limits }: SpawnContext): SessionBudget {
  const { max_tokens, max_cost_usd, max_minutes } = limits.budget
  return {
    ...(max_tokens === null ? {} : { max_tokens }),
    ...(max_cost_usd === null ? {} : { max_cost_usd }),
    ...(max_minutes === null ? {} : { max_minutes }),
  }
}

export const noBudget = (place: SpawnContext): string => {
  const now = place.runner.clock.now()
  const { tokens, cost_usd, minutes } = minOf(
    budgetsOf(place).map(({ budget, spending }) => leftOf(budget, spending, now)),
  )
  const left = [
    ...(tokens === undefined ? [] : [`${Math.max(0, Math.floor(tokens))} tokens`]),
    ...(cost_usd === undefined ? [] : [`${Math.max(0, cost_usd).toFixed(4)} USD`]),
    ...(minutes === undefined ? [] : [`${Math.max(0, Math.floor(minutes))} minutes`]),
  ].join(', ')
  return (
    `the budget of this session is too small for more workers (left: ${left}; a worker needs at least ` +
    `${MIN_TOKENS} tokens): do the rest yourself`
  )
}

/** A budget in USD cannot be enforced with a model that has no price. */
export function unpriced(
  place: SpawnContext,
  { agent, model }: { agent?: string | undefined; model?: string | undefined },
): string | null {
  const { runner, session, limits } = place
  const isLimited =
    limits.budget.max_cost_usd !== null ||
    budgetsOf(place).some(({ budget }) => budget.max_cost_usd !== undefined)
  if (!isLimited) return null
  const { agents, models } = runner.config
  const name = model ?? (agents[agent ?? session.agent] ?? AgentConfig.parse({})).model ?? models.default
  return name === undefined || hasPrice(models.catalog[name])
    ? null
    : `model ${name} has no price in models.catalog, and this session has a budget in USD: name another model`
}
const hasPrice = (rates: { input?: number | undefined; output?: number | undefined } | undefined): boolean =>
  rates?.input !== undefined && rates.output !== undefined
