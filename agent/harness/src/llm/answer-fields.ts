/** Single fields of an answer, made fit for an event whatever a server put there. */
import { MAX_DEPTH, nestsTooDeep, clip } from '@cairn/protocol'

const REASON_CHARS = 64

/** A count of tokens: a whole number of 0 or more; what is none of those leaves it as it was. */
export const tokenCount = (given: number | null | undefined, before = 0): number =>
  typeof given === 'number' && given >= 0 && Number.isSafeInteger(Math.round(given))
    ? Math.round(given)
    : before

/** A reason is a word. */
export const shortReason = (reason: string): string => clip(reason, REASON_CHARS)

/**
 * The arguments of a call as JSON text. Some servers send an object; one nested so deep that it has no text
 * becomes a text that is no JSON, so that the call fails as calls with bad arguments do.
 */
export function argumentsText(given: unknown): string {
  if (typeof given === 'string') return given
  return nestsTooDeep(given) ? `(an object nested deeper than ${MAX_DEPTH} levels)` : JSON.stringify(given)
}
