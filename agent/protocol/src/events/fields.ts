/** Fields that rows of several families share. */
import { z } from 'zod'

export const id = z.string().min(1)
export const eventId = z.int().positive()
export const count = z.int().nonnegative()
export const seconds = z.number().nonnegative()
export const unixTime = z.number().describe('Unix time in seconds, with fraction')
export const json = z.record(z.string(), z.unknown())

export const turnOptional = { turn_id: id.optional(), iteration_index: count.optional() }

/** Both count evaluations. A start is written before its own evaluation has ended. */
export const evaluationsBefore = count.describe('evaluations that ended before this one: 0 for the first')
export const evaluationsSoFar = count.describe(
  'evaluations that have ended, including this one: 1 for the first',
)
