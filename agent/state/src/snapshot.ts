/**
 * A snapshot of a worker's fold as text (decision 19): what is kept beside a log, so that a wake reads what
 * came since and not all of it. It is read only by the code that wrote it, which FOLD_VERSION tells, and the
 * store gives it out only as it was saved; so what is read here has the shape that was written.
 */
import type { EventId } from '@cairn/protocol'
import type { CapabilityStates } from './capabilities.ts'

export type Folded = CapabilityStates & { readonly last_id: EventId }

/**
 * Data that survives JSON. A Map, a Set, a Date or a function in a fold does not compile here: it would come
 * back as something else.
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

/** Null where the text is no snapshot that ends with that event. */
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
    return null // The log tells what it would have said.
  }
}
