/**
 * Where the harness tells an operator what happened; `app` prints it to stderr. Never events, never secrets.
 */
export type Log = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields?: Record<string, unknown>,
) => void
