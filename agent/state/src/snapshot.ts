/**
 * A snapshot of a runner's fold as text (decision 19), stored with a log, so that a wake-up reads only later
 * events. Only the code that wrote it reads it, which FOLD_VERSION ensures, and the store returns it
 * unchanged; so what is read here has the shape that was written.
 */
import type { EventId } from '@cairn/protocol'
import type { CapabilityStates } from './capabilities/index.ts'

export type Folded = CapabilityStates & { readonly last_id: EventId }

/**
 * Data that survives JSON. A fold with a Map, Set, Date or function does not compile here, because it would
 * be restored as something else.
 */
export type Plain<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends bigint | symbol | Date | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
      ? never
      : T extends (...args: never[]) => unknown
        ? never
        : { [K in keyof T]: Plain<T[K]> }

export const writeSnapshot = <F extends Folded>(folded: F & Plain<F>): string => JSON.stringify(folded)

/** Null if the text is not a snapshot that ends with that event. */
export function readSnapshot<F extends Folded>({
  last_id,
  body,
}: {
  last_id: EventId
  body: string
}): F | null {
  const folded = parse(body) as F | null
  return typeof folded === 'object' && folded?.last_id === last_id ? folded : null
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null // The log contains the same information.
  }
}
