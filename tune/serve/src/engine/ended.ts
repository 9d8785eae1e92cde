/** Why a sequence ended before its answer did. */

/** A sequence was ended because the server or its adapter went. */
export class EndedError extends Error {
  override name = 'EndedError'
}

export const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
