/** Fields that routes of several resources share. */
import { z } from 'zod'
import { Answer } from '../events/index.ts'

/** Query values arrive as text. All routes ignore unknown query parameters (contract 3.3). */
export const integer = (what: string) =>
  z
    .string()
    .regex(/^-?\d{1,15}$/, `${what} must be an integer`)
    .transform(Number)
/** A list of values, separated by commas. */
export const list = <const T extends readonly [string, ...string[]]>(values: T) =>
  z
    .string()
    .transform(text => text.split(','))
    .pipe(z.array(z.enum(values)))
export const Cursor = z
  .string()
  .regex(/^\d{1,15}$/, 'after must be a non-negative integer')
  .transform(Number)

/** Text with visible content: white space and zero-width characters do not count. */
export const said = z.string().regex(/[^\s\u200b-\u200d\u2060]/, 'must not be blank')

export const page = { limit: integer('limit').optional(), cursor: z.string().optional() }

export const QuestionResponses = z
  .array(Answer.omit({ is_other: true }))
  .min(1)
  .max(10)

export const onSession = { access: 'any', alias: true } as const

export const PINS_FIRST = z
  .enum(['first'])
  .optional()
  .describe(
    'first: the sessions that you pinned have `pinned`. Without other filters than status and parent_id, ' +
      'they come first, beyond the limit of the first page',
  )
