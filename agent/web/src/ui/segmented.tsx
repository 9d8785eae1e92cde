/** A choice between a few views of the same list, beside the title of a page. */
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import './segmented.css'

type Props<Id extends string> = {
  /** The accessible name of the group. */
  label: string
  /** Begins the test id of each segment. */
  testId: string
  segments: readonly { id: Id; text: string; count?: number }[]
  chosen: Id
  onChoose: (id: Id) => void
}

export const Segmented = <Id extends string>({ label, testId, segments, chosen, onChoose }: Props<Id>) => (
  <ToggleButtonGroup
    className="segments"
    aria-label={label}
    selectionMode="single"
    disallowEmptySelection
    selectedKeys={[chosen]}
    onSelectionChange={([key]) => onChoose(segments.find(({ id }) => id === key)?.id ?? chosen)}
  >
    {segments.map(({ id, text, count = 0 }) => (
      <ToggleButton key={id} className="segment" id={id} data-testid={`${testId}-${id}`}>
        {text}
        {count > 0 && <span className="faint numeric">{count}</span>}
      </ToggleButton>
    ))}
  </ToggleButtonGroup>
)
