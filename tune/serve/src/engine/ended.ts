/** Why a sequence ended before its answer did. */

/** A sequence was ended because the server or its adapter went. */
export class EndedError extends Error {
  override name = 'EndedError'
}

export const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

/** The end of a request whose adapter was unloaded. */
export const unloadedError = (name: string): EndedError =>
  new EndedError(`The lora adapter '${name}' was unloaded while it was generating.`)
