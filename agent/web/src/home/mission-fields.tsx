/** What a mission needs besides its goal: criteria, and a budget if there is one. Loaded on first use. */
import { homeMissionWords } from '../words/home-mission.ts'

type Props = {
  criteria: string
  budget: string
  onCriteria: (criteria: string) => void
  onBudget: (budget: string) => void
}

// React.lazy needs a default export.
export default function MissionFields({ criteria, budget, onCriteria, onBudget }: Props) {
  return (
    <div className="home-mission">
      <textarea
        rows={2}
        aria-label={homeMissionWords.criteria}
        placeholder={homeMissionWords.criteria}
        value={criteria}
        onChange={event => onCriteria(event.target.value)}
        data-testid="home-criteria"
      />
      <input
        className="input"
        type="number"
        min="0"
        step="any"
        aria-label={homeMissionWords.budget}
        placeholder={homeMissionWords.budget}
        value={budget}
        onChange={event => onBudget(event.target.value)}
      />
    </div>
  )
}
