/** Selects the turn that a section shows. */
import type { TurnSums } from '../events/turn-sums.ts'
import { Picker } from '../ui/picker.tsx'
import { railWords } from '../words/rail.ts'

type Props = {
  turns: readonly TurnSums[]
  /** The number of the turn; null: the whole session. */
  value: number | null
  whole?: string
  onChange: (turn: number | null) => void
}

const WHOLE = 'whole'

export function TurnPicker({ turns, value, whole, onChange }: Props) {
  return (
    <Picker
      className="turn-picker"
      label={railWords.turnHead}
      options={[
        ...(whole === undefined ? [] : [{ id: WHOLE, text: whole }]),
        ...turns.toReversed().map(({ number, review }) => ({
          id: String(number),
          text: review ? railWords.reviewTurn(number) : railWords.turn(number),
        })),
      ]}
      value={value === null ? WHOLE : String(value)}
      onChange={id => onChange(id === WHOLE ? null : Number(id))}
      testId="turn-picker"
    />
  )
}
