/** The policy for tools and network access. */
import { z } from 'zod'

export const EgressConfig = z.strictObject({
  default: z.enum(['allow', 'deny']).default('allow'),
  allow: z
    .array(z.string())
    .default([])
    .describe('host names; never allows a private address, whatever the name resolves to'),
  deny: z.array(z.string()).default([]),
  internal: z
    .array(
      z
        .string()
        .regex(/^[^*]+$/, 'must be a full host name or address, without a wildcard')
        .regex(
          /^(?:[^:]*|[\d.]+:\d+|\[[^\]]+\](?::\d+)?|[^.[]*:[^[]*:[^[]*)$/,
          'has a port after a name: only an address may have one (127.0.0.1:8080); a name allows all ports',
        ),
    )
    .default([])
    .describe('host names and addresses that may be private; an address with a port allows only that port'),
})

export const GovernanceConfig = z.strictObject({
  allowed_tools: z.array(z.string()).default([]).describe('empty: all tools of the agent'),
  denied_tools: z.array(z.string()).default([]),
  require_approval: z.array(z.string()).default([]),
  egress: EgressConfig.prefault({}),
})
export type GovernanceConfig = z.infer<typeof GovernanceConfig>
