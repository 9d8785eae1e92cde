/** Principals: users and service accounts. */
import { z } from 'zod'

export const PrincipalView = z
  .object({
    kind: z.enum(['user', 'service_account']),
    id: z.string(),
    org_id: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    admin: z.boolean(),
    has_password: z.boolean().optional().describe('for users only'),
    letter_keys: z
      .boolean()
      .optional()
      .describe('for users only; false: they switched single-letter keys off'),
  })
  .meta({ id: 'Principal' })

/**
 * The caller. A service account sees the sessions it created unless its scope is `org`; an administrator sees
 * those of the organisation.
 */
export type Principal =
  | { kind: 'user'; id: string; org_id: string; admin: boolean; name: string; email: string }
  | { kind: 'service_account'; id: string; org_id: string; scope: 'own' | 'org'; name: string }
