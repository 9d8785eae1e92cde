/**
 * Where the harness tells an operator what happened; `app` prints it to stderr. Never events, never secrets.
 */
export type Logger = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields?: Record<string, unknown>,
) => void
