/** Selects the turn that a section shows. */
import type { TurnSums } from '../events/turn-sums.ts'
import { railWords } from '../words/rail.ts'

type Props = {
  turns: readonly TurnSums[]
  /** The number of the turn; null: the whole session. */
  value: number | null
  whole?: string
  onChange: (turn: number | null) => void
}

export function TurnPicker({ turns, value, whole, onChange }: Props) {
  return (
    <select
      className="input turn-picker"
      aria-label={railWords.turnHead}
      value={value ?? ''}
      onChange={event => onChange(event.target.value === '' ? null : Number(event.target.value))}
      data-testid="turn-picker"
    >
      {whole !== undefined && <option value="">{whole}</option>}
      {turns.toReversed().map(({ number, review }) => (
        <option key={number} value={number}>
          {review ? railWords.reviewTurn(number) : railWords.turn(number)}
        </option>
      ))}
    </select>
  )
}
