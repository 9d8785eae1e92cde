/** The command palette (Ctrl+K): finds a page, a session or a command by a part of its name. */
import { Fragment, type KeyboardEvent, useState } from 'react'
import { ModalDialog } from '../ui/modal.tsx'
import { useActionEntries, usePageEntries, useFoundSessions, useSessionEntries } from './palette-entries.tsx'
import { type Entry, fittingEntries } from './palette-fit.ts'
import { useRequestEntries } from './palette-requests.tsx'
import './palette.css'
import { paletteWords } from '../words/palette.ts'

const LIST_ID = 'palette-list'
const optionId = (at: number) => `palette-option-${at}`

type Props = { onClose: () => void; onFold: () => void; onKeys: () => void }

// React.lazy needs a default export.
export default function Palette(props: Props) {
  const [{ step }, setStep] = useState<{ step?: Step }>({})
  return (
    <ModalDialog className="modal palette" label={paletteWords.palette} onClose={props.onClose}>
      {step === undefined ? <Chooser {...props} onStep={setStep} /> : step(props.onClose)}
    </ModalDialog>
  )
}

type Step = NonNullable<Entry['step']>

function useEntries(typed: string, { onFold, onKeys }: Props): Entry[] {
  const fixed = [
    ...useRequestEntries(),
    ...useActionEntries(onFold, onKeys),
    ...useSessionEntries(),
    ...usePageEntries(),
  ]
  // The server selects the sessions; until it replies, the previous selection is filtered here.
  return fittingEntries([...fixed, ...useFoundSessions(typed.trim())], typed)
}

function Chooser({ onStep, ...props }: Props & { onStep: (to: { step: Step }) => void }) {
  const [typed, setTyped] = useState('')
  const [place, setPlace] = useState(0)
  const entries = useEntries(typed, props)
  const active = Math.min(place, entries.length - 1)
  const choose = (entry: Entry | undefined) => {
    if (entry === undefined) return
    if (entry.step !== undefined) return onStep({ step: entry.step })
    props.onClose()
    entry.run()
  }
  const move = (by: number) => setPlace((active + by + entries.length) % Math.max(1, entries.length))
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    if (event.key === 'ArrowDown') move(1)
    else if (event.key === 'ArrowUp') move(-1)
    else if (event.key === 'Enter') choose(entries[active])
    else return
    event.preventDefault()
  }
  return (
    <>
      <input
        className="input"
        role="combobox"
        aria-label={paletteWords.paletteField}
        placeholder={paletteWords.paletteField}
        aria-expanded={entries.length > 0}
        aria-controls={LIST_ID}
        aria-autocomplete="list"
        aria-activedescendant={entries.length > 0 ? optionId(active) : undefined}
        value={typed}
        onChange={event => {
          setTyped(event.target.value)
          setPlace(0)
        }}
        onKeyDown={onKeyDown}
        autoFocus
        data-testid="palette-input"
      />
      <div id={LIST_ID} role="listbox" aria-label={paletteWords.results} className="palette-list">
        {entries.map((entry, at) => (
          <Fragment key={entry.id}>
            {entry.group !== entries[at - 1]?.group && (
              <div className="palette-group" role="presentation">
                {paletteWords.groups[entry.group]}
              </div>
            )}
            <Option entry={entry} at={at} isActive={at === active} onChoose={() => choose(entry)} />
          </Fragment>
        ))}
      </div>
      {entries.length === 0 && (
        <p className="muted" role="status">
          {paletteWords.noResults}
        </p>
      )}
    </>
  )
}

type OptionProps = { entry: Entry; at: number; isActive: boolean; onChoose: () => void }

const Option = ({ entry, at, isActive, onChoose }: OptionProps) => (
  <div
    id={optionId(at)}
    role="option"
    tabIndex={-1}
    aria-selected={isActive}
    className="palette-option"
    data-testid="palette-option"
    data-group={entry.group}
    // Keeps the focus in the text field.
    onMouseDown={event => {
      event.preventDefault()
      onChoose()
    }}
  >
    <span className="palette-icon">{entry.icon}</span>
    <span className="truncate">{entry.label}</span>
    {entry.detail !== undefined && <span className="faint truncate">{entry.detail}</span>}
    {entry.keys !== undefined && (
      <span className="palette-keys" aria-hidden="true">
        {entry.keys.map(key => (
          <kbd key={key}>{key}</kbd>
        ))}
      </span>
    )}
  </div>
)
