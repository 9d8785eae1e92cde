/** The used part of a mission's budget: a name, an amount and a bar for each limit. */
import type { MissionView } from '@cairn/protocol'
import { formatCost, formatCount, formatTokens } from '../format.ts'
import '../ui/meter.css'
import { type Use, usesOf } from './mission-words.ts'
import { missionsWords } from '../words/missions.ts'
import { rich } from '../words/rich.tsx'

export function BudgetBars({ mission }: { mission: Pick<MissionView, 'budget' | 'spent'> }) {
  const uses = usesOf(mission)
  return uses.length === 0 ? null : (
    <span className="budget-bars" data-testid="budget-bars">
      {uses.map(use => (
        <span key={use.what} className="budget-bar">
          <span>{missionsWords.budgetOf[use.what]}</span>
          <span className="faint numeric">
            {rich(missionsWords.usedOf, { used: <strong>{used(use)}</strong>, of: of(use) })}
          </span>
          <meter
            className="meter"
            min={0}
            max={1}
            high={0.95}
            low={0.8}
            optimum={0}
            value={use.part}
            aria-label={missionsWords.budgetName(missionsWords.budgetOf[use.what])}
          />
        </span>
      ))}
    </span>
  )
}

const used = ({ what, used: amount }: Use): string =>
  what === 'tokens'
    ? formatTokens(amount)
    : what === 'USD'
      ? formatCost(amount)
      : formatCount(Math.floor(amount))

const of = ({ what, of: limit }: Use): string =>
  what === 'tokens'
    ? formatTokens(limit)
    : what === 'USD'
      ? formatCost(limit)
      : missionsWords.minutes(Math.round(limit))
