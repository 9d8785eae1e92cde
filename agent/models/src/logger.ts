/**
 * Diagnostic output of the harness for the operator; `app` prints it to stderr. Never events, never secrets.
 */
export type Logger = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields?: Record<string, unknown>,
) => void
