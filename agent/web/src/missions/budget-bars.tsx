/** The used part of a mission's budget: a bar and a text for each limit. */
import type { MissionView } from '@cairn/protocol'
import { formatCost, formatTokens } from '../format.ts'
import { type Use, usesOf } from './mission-words.ts'
import { missionsWords } from '../words/missions.ts'

export function BudgetBars({ mission }: { mission: Pick<MissionView, 'budget' | 'spent'> }) {
  const uses = usesOf(mission)
  return uses.length === 0 ? null : (
    <span className="budget-bars" data-testid="budget-bars">
      {uses.map(use => (
        <span key={use.what} className="budget-bar">
          <meter
            min={0}
            max={1}
            high={0.9}
            low={0.75}
            optimum={0}
            value={use.part}
            aria-label={missionsWords.budgetOf(use.what)}
          />
          <span className="faint numeric">{told(use)}</span>
        </span>
      ))}
    </span>
  )
}

function told({ what, used, of }: Use): string {
  switch (what) {
    case 'tokens':
      return missionsWords.usedTokens(formatTokens(used), formatTokens(of))
    case 'USD':
      return missionsWords.usedCost(formatCost(used), formatCost(of))
    case 'minutes':
      return missionsWords.usedMinutes(Math.floor(used), Math.round(of))
  }
}
