/** The problem document of an error. */
import { z } from 'zod'

export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    request_id: z.string(),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .max(20)
      .optional(),
    errors_omitted: z.int().optional().describe('errors beyond the first twenty'),
  })
  .meta({ id: 'Problem' })
