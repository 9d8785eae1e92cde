/** A field of a form: its label, its control, and what is wrong with it. */
import { type ReactNode, useId } from 'react'

type Control = { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }
type Props = {
  label: ReactNode
  hint?: ReactNode
  /** Shown below the control, which is then marked as invalid. */
  error?: string | null
  /** The control gets these attributes. */
  children: (control: Control) => ReactNode
}

export function Field({ label, hint, error = null, children }: Props) {
  const id = useId()
  const [hintId, errorId] = [`${id}-hint`, `${id}-error`]
  const described = [hint !== undefined && hintId, error !== null && errorId].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        ...(described !== '' && { 'aria-describedby': described }),
        ...(error !== null && { 'aria-invalid': true }),
      })}
      {hint !== undefined && (
        <p className="faint" id={hintId}>
          {hint}
        </p>
      )}
      {error !== null && (
        <p className="inline-error" id={errorId} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
