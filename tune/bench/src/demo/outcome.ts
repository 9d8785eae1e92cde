/** accuracy.json: the result of a demonstration. The matrix reads its accuracy table from it. */
import { z } from 'zod'

const score = z.object({ accuracy: z.number(), stderr: z.number(), correct: z.int(), total: z.int() })

const scored = z.object({
  config: z.string(),
  seed: z.int(),
  /** The base that served the adapter: as its recipe stores it, or unquantised. */
  base: z.enum(['own', 'bf16']),
  romanian: score,
  english: score,
})

const loss = z.object({
  config: z.string(),
  seed: z.int(),
  points: z.array(z.tuple([z.int(), z.number()])),
  seconds: z.number(),
})

/** Accuracy of a base or an adapter in both languages. */
export const bothSchema = z.object({ romanian: score, english: score })

/** One adapter: how it was trained, and its scores on each base that served it. */
export const rowSchema = z.object({ hardware: z.string(), loss, scored: z.array(scored) })

export const outcomeSchema = z.object({
  schema: z.literal(1),
  hardware: z.string(),
  started_at: z.iso.datetime(),
  plan: z.record(z.string(), z.unknown()),
  untrained: bothSchema,
  scored: z.array(scored),
  losses: z.array(loss),
})

export type DemoOutcome = z.infer<typeof outcomeSchema>
export type DemoRow = z.infer<typeof rowSchema>
export type Scored = z.infer<typeof scored>
export const OUTCOME_FILE = 'accuracy.json'
