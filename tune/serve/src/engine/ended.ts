/** Errors of sequences that ended before their answer was complete. */

/** A sequence ended because the server closed or its adapter was unloaded. */
export class EndedError extends Error {
  override name = 'EndedError'
}

export const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

/** Error for a request whose adapter was unloaded. */
export const unloadedError = (name: string): EndedError =>
  new EndedError(`The lora adapter '${name}' was unloaded while it was generating.`)
