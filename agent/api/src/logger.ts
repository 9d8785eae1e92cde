/** Diagnostic output of the service. */
export type Logger = Record<
  'info' | 'warn' | 'error',
  (message: string, fields?: Record<string, unknown>) => void
>
