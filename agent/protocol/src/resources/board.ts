/** The board in API responses. */
import { z } from 'zod'
import { timestamp, count } from './fields.ts'

export const BoardView = z
  .object({
    group_id: z.string().describe('the root session of the tree'),
    notes: z.array(
      z.object({
        id: z.string(),
        type: z.enum(['FACT', 'FAIL', 'CLAIM', 'RESULT']),
        content: z.string(),
        ref: z.string().nullable(),
        writer_id: z.string().describe('the session that wrote it'),
        created_at: timestamp,
        expires_at: timestamp.nullable(),
      }),
    ),
    next_seq: count.describe('the number of the next note'),
  })
  .meta({ id: 'Board' })
export type BoardView = z.infer<typeof BoardView>
