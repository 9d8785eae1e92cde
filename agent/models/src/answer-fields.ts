/** Makes single fields of an answer valid for an event, whatever the server sent. */
import { MAX_DEPTH, nestsTooDeep, clip } from '@cairn/protocol'
import { z } from 'zod'

const REASON_CHARS = 64

/** Some servers send numbers as text. Anything else counts as absent: a number must not cost the answer. */
export const lenientNumber = z
  .unknown()
  .transform(given =>
    typeof given === 'number'
      ? given
      : typeof given === 'string' && /^\d+(\.\d+)?$/.test(given.trim())
        ? Number(given)
        : undefined,
  )
  .optional()

/** A token count as an integer of at least 0; an invalid one keeps the previous value. */
export const tokenCount = (given: number | null | undefined, before = 0): number =>
  typeof given === 'number' && given >= 0 && Number.isSafeInteger(Math.round(given))
    ? Math.round(given)
    : before

/** A finish reason is a short word. */
export const shortReason = (reason: string): string => clip(reason, REASON_CHARS)

/**
 * The arguments of a call as JSON text. Some servers send an object; one nested too deeply to serialize
 * becomes an invalid JSON text, so that the call fails like any call with bad arguments.
 */
export function argumentsText(given: unknown): string {
  if (typeof given === 'string') return given
  return nestsTooDeep(given) ? `(an object nested deeper than ${MAX_DEPTH} levels)` : JSON.stringify(given)
}
