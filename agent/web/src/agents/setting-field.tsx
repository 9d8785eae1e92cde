/** A field of the settings, bound by its path. An empty field removes the key, so that its default applies. */
import { useId, useState } from 'react'
import { agentsWords } from '../words/agents.ts'
import type { Settings } from './setting-queries.ts'
import { listOf, valueAt, withValue } from './setting-values.ts'
import type { FieldErrors } from './use-setting-editor.ts'

export type Form = {
  settings: Settings
  /** Settings in effect, whose values are shown where the draft has none. */
  defaults: Settings
  errors: FieldErrors
  change: (settings: Settings) => void
}
type Props = {
  form: Form
  path: string
  label?: string
  kind?: 'text' | 'area' | 'number' | 'switch' | 'lines'
  hint?: string
  rows?: number
  /** Suggestions of a text field. */
  options?: readonly string[]
  isRequired?: boolean
}

export function SettingField({ form, path, label, kind = 'text', hint, ...rest }: Props) {
  const id = useId()
  const name = label ?? agentsWords.fields[path] ?? path
  const error = errorAt(form.errors, path)
  const describedBy = [hint === undefined ? [] : `${id}-hint`, error === undefined ? [] : `${id}-error`]
    .flat()
    .join(' ')
  const input = { id, form, path, kind, describedBy, isInvalid: error !== undefined, ...rest }
  if (kind === 'switch')
    return (
      <div className="setting-field">
        <label className="agents-check">
          <SwitchInput {...input} /> {name}
        </label>
        <FieldNotes id={id} hint={hint} error={error} />
      </div>
    )
  return (
    <div className="field setting-field" data-path={path}>
      <label htmlFor={id}>{name}</label>
      {kind === 'area' || kind === 'lines' ? <AreaInput {...input} /> : <LineInput {...input} />}
      <FieldNotes id={id} hint={hint} error={error} />
    </div>
  )
}

/** The message of the field, or of an entry within it. */
const errorAt = (errors: FieldErrors, path: string): string | undefined =>
  errors[path] ?? Object.entries(errors).find(([key]) => key.startsWith(`${path}.`))?.[1]

function FieldNotes({
  id,
  hint,
  error,
}: {
  id: string
  hint?: string | undefined
  error?: string | undefined
}) {
  return (
    <>
      {hint !== undefined && (
        <p className="faint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p className="inline-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </>
  )
}

type InputProps = Omit<Props, 'label' | 'hint'> & { id: string; describedBy: string; isInvalid: boolean }

const shared = ({ id, describedBy, isInvalid, isRequired = false }: InputProps) => ({
  id,
  required: isRequired,
  'aria-describedby': describedBy === '' ? undefined : describedBy,
  'aria-invalid': isInvalid || undefined,
})

function SwitchInput(props: InputProps) {
  const { form, path } = props
  const value = valueAt(form.settings, path) ?? valueAt(form.defaults, path)
  return (
    <input
      {...shared(props)}
      type="checkbox"
      checked={value === true}
      onChange={event => form.change(withValue(form.settings, path, event.target.checked))}
    />
  )
}

const shownText = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)

function LineInput(props: InputProps) {
  const { id, form, path, kind, options } = props
  const value = valueAt(form.settings, path)
  const standard = shownText(valueAt(form.defaults, path))
  const change = (text: string): void => {
    const next = text === '' ? undefined : kind === 'number' && text !== '' ? Number(text) : text
    form.change(withValue(form.settings, path, next))
  }
  return (
    <>
      <input
        {...shared(props)}
        className="input"
        type={kind === 'number' ? 'number' : 'text'}
        step="any"
        autoComplete="off"
        list={options === undefined ? undefined : `${id}-list`}
        placeholder={standard}
        value={shownText(value)}
        onChange={event => change(event.target.value)}
      />
      {options !== undefined && (
        <datalist id={`${id}-list`}>
          {options.map(option => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </datalist>
      )}
    </>
  )
}

/** A text, or a list with an entry on each line. The text stays as typed while it is edited. */
function AreaInput(props: InputProps) {
  const { form, path, kind, rows = 4 } = props
  const value = valueAt(form.settings, path)
  const asText = Array.isArray(value) ? value.map(String).join('\n') : shownText(value)
  const [typed, setTyped] = useState(asText)
  const text = kind === 'lines' && listOf(typed)?.join('\n') === listOf(asText)?.join('\n') ? typed : asText
  const standard = valueAt(form.defaults, path)
  return (
    <textarea
      {...shared(props)}
      className="input setting-area"
      rows={rows}
      placeholder={Array.isArray(standard) ? standard.map(String).join('\n') : shownText(standard)}
      value={text}
      onChange={event => {
        setTyped(event.target.value)
        const next = kind === 'lines' ? listOf(event.target.value) : event.target.value
        form.change(withValue(form.settings, path, next === '' ? undefined : next))
      }}
    />
  )
}
