/** A choice of one value from a short list: a button with the value, which opens the list. */
import { Button, Label, ListBox, ListBoxItem, Popover, Select, SelectValue } from 'react-aria-components'
import { DropIcon } from './icons.tsx'
import './picker.css'

type Option<Id extends string> = { id: Id; text: string; isDisabled?: boolean }
type Props<Id extends string> = {
  label: string
  /** A label above the button, as in forms; else the label is for screen readers. */
  isLabelShown?: boolean
  options: readonly Option<Id>[]
  /** Null: none of the options; `placeholder` is shown. */
  value: Id | null
  placeholder?: string
  onChange: (value: Id) => void
  /** The key of the value in the data of a form. */
  name?: string
  className?: string
  testId?: string
}

export const Picker = <Id extends string>({
  label,
  isLabelShown = false,
  options,
  value,
  placeholder = '',
  onChange,
  name,
  className = '',
  testId,
}: Props<Id>) => (
  <Select
    className={`picker ${isLabelShown ? 'field' : ''} ${className}`}
    {...(!isLabelShown && { 'aria-label': label })}
    {...(name !== undefined && { name })}
    placeholder={placeholder}
    value={value}
    onChange={key => {
      const chosen = options.find(({ id }) => id === key)
      if (chosen !== undefined) onChange(chosen.id)
    }}
  >
    {isLabelShown && <Label>{label}</Label>}
    <Button className="input picker-button" data-testid={testId} data-value={value ?? ''}>
      <SelectValue className="truncate" />
      <DropIcon />
    </Button>
    <Popover className="popover picker-list">
      <ListBox className="menu" items={options}>
        {({ id, text, isDisabled = false }) => (
          <ListBoxItem id={id} textValue={text} isDisabled={isDisabled} className="menu-item">
            {text}
          </ListBoxItem>
        )}
      </ListBox>
    </Popover>
  </Select>
)

/** Options whose texts are a table. */
export const optionsOf = <Id extends string>(texts: Readonly<Record<Id, string>>): Option<Id>[] =>
  (Object.keys(texts) as Id[]).map(id => ({ id, text: texts[id] }))
