/** What a message records about the request that brought it. */
import { z } from 'zod'

const Origin = z.looseObject({
  api: z.string().optional(),
  message_id: z.string().optional(),
  run_id: z.string().optional(),
  request_hash: z.string().optional(),
  metadata: z.record(z.string(), z.string()).optional(),
})
export type CompatOrigin = z.infer<typeof Origin>

/** Empty for a message that came another way. */
export function compatOrigin(metadata: Record<string, unknown> | undefined): CompatOrigin {
  const parsed = Origin.safeParse(metadata?.['compat'])
  return parsed.success ? parsed.data : {}
}
