/** Shown when a page fails to load or render. */
import type { ErrorComponentProps } from '@tanstack/react-router'
import { describeError } from '../api.ts'
import { AlertIcon } from '../ui/icons.tsx'
import { errorsWords } from '../words/errors.ts'
import { generalWords } from '../words/general.ts'

export function ErrorPage({ error, reset }: ErrorComponentProps) {
  return (
    <div className="empty" role="alert">
      <AlertIcon />
      <h1>{errorsWords.pageFailed}</h1>
      <p>{describeError(error)}</p>
      <button type="button" className="button" onClick={reset}>
        {generalWords.retry}
      </button>
    </div>
  )
}
