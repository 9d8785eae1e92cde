/** Keeps a problem document small, however much of a request is wrong (contract 4.3). */
import type { FieldError } from './read-body.ts'

const MAX_ERRORS = 20
const MAX_PATH = 200
const MAX_MESSAGE = 300
const MAX_DETAIL = 2_000

const shorten = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)}…`)

export const shortDetail = (detail: string): string => shorten(detail, MAX_DETAIL)

/** The first errors, and the number of omitted ones. */
export function shortErrors(errors: readonly FieldError[]): {
  errors: FieldError[]
  errors_omitted?: number
} {
  const shown = errors.slice(0, MAX_ERRORS).map(({ path, message }) => ({
    path: shorten(path, MAX_PATH),
    message: shorten(message, MAX_MESSAGE),
  }))
  const omitted = errors.length - shown.length
  return { errors: shown, ...(omitted > 0 ? { errors_omitted: omitted } : {}) }
}
