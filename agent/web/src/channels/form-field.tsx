/** One field of a form, rendered by its kind. */
import { useId, useState } from 'react'
import { Button } from 'react-aria-components'
import type { Field } from './channel-queries.ts'
import { fieldLabel } from './channel-words.ts'
import { type Settings, shownValue, valueAt } from './form-values.ts'
import { Picker } from '../ui/picker.tsx'
import { channelsWords } from '../words/channels.ts'

type FieldProps = {
  field: Field
  settings: Settings
  /** The server has a secret of that name. It never returns the value. */
  isKept: boolean
}

export function FormField({ field, settings, isKept }: FieldProps) {
  const id = useId()
  const hint = `${id}-hint`
  const { key, kind } = field
  const value = shownValue(field, valueAt(settings, key))
  if (kind === 'flag')
    return (
      <label className="admin-check">
        <input type="checkbox" name={key} defaultChecked={value === 'true'} /> {fieldLabel(field)}
        <span className="faint"> {field.hint}</span>
      </label>
    )
  return (
    <div className="field">
      {kind !== 'choice' && <label htmlFor={id}>{fieldLabel(field)}</label>}
      {kind === 'secret' ? (
        <SecretInput id={id} hint={hint} field={field} isKept={isKept} />
      ) : (
        <PlainInput id={id} hint={hint} field={field} value={value} />
      )}
      {field.hint !== '' && (
        <p className="faint" id={hint}>
          {field.hint}
          {kind === 'list' ? channelsWords.onePerLine : ''}
        </p>
      )}
    </div>
  )
}

type InputProps = { id: string; hint: string; field: Field }

function PlainInput({ id, hint, field, value }: InputProps & { value: string }) {
  const { key, kind, required } = field
  const shared = {
    id,
    name: key,
    required,
    className: 'input',
    defaultValue: value,
    'aria-describedby': field.hint === '' ? undefined : hint,
  }
  if (kind === 'choice') return <ChoiceInput field={field} initial={value} />
  if (kind === 'list') return <textarea {...shared} rows={2} />
  return <input {...shared} type={kind === 'number' ? 'number' : 'text'} />
}

/** The empty value is inherited, and an option needs an id. */
const INHERITED = ' inherited'

function ChoiceInput({ field, initial }: { field: Field; initial: string }) {
  const { key, required, choices = [] } = field
  const isOptional = !required && field.default === undefined
  const [value, setValue] = useState(initial === '' ? (isOptional ? INHERITED : (choices[0] ?? '')) : initial)
  return (
    <>
      <input type="hidden" name={key} value={value === INHERITED ? '' : value} />
      <Picker
        label={fieldLabel(field)}
        isLabelShown
        options={[
          ...(isOptional ? [{ id: INHERITED, text: channelsWords.inherited }] : []),
          ...choices.map(choice => ({ id: choice, text: choice })),
        ]}
        value={value}
        onChange={setValue}
      />
    </>
  )
}

/** 32 random bytes, generated in this browser. */
function randomSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return `whsec_${btoa(String.fromCharCode(...bytes))}`
}

function SecretInput({ id, hint, field, isKept }: InputProps & { isKept: boolean }) {
  const [text, setText] = useState('')
  const [isMade, setMade] = useState(false)
  // Only these secrets can be generated here; the others come from the platform.
  const isOurs = field.hint.startsWith('whsec_')
  return (
    <div className="channel-secret">
      <input
        id={id}
        name={field.key}
        className="input mono"
        // A generated secret is visible because the person copies it to the platform.
        type={isMade ? 'text' : 'password'}
        autoComplete="off"
        required={field.required && !isKept}
        placeholder={isKept ? channelsWords.unchanged : ''}
        aria-describedby={hint}
        value={text}
        onChange={event => setText(event.target.value)}
      />
      {isOurs && (
        <Button
          className="button"
          onPress={() => {
            setText(randomSecret())
            setMade(true)
          }}
        >
          {channelsWords.generate}
        </Button>
      )}
    </div>
  )
}
