/** Model providers and the prices of models. */
import { z } from 'zod'
import { envName } from './names.ts'

export const ProviderConfig = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('openai'),
    base_url: z.url().default('https://api.openai.com/v1'),
    api_key_env: envName.optional(),
    headers: z.record(z.string(), z.string()).default({}),
  }),
  z.strictObject({
    kind: z.literal('anthropic'),
    base_url: z.url().default('https://api.anthropic.com'),
    api_key_env: envName.optional(),
  }),
  z.strictObject({
    kind: z.literal('scripted'),
    scenario: z.string().optional().describe('a YAML file; absent: the demo scenario'),
  }),
])
export type ProviderConfig = z.infer<typeof ProviderConfig>

export const Rates = z
  .strictObject({
    input: z.number().nonnegative(),
    output: z.number().nonnegative(),
    cache_read: z.number().nonnegative().optional(),
    cache_write: z.number().nonnegative().optional(),
    context_window: z.int().positive().default(128_000),
    max_output_tokens: z.int().positive().optional(),
    reasoning: z.boolean().default(false),
  })
  .partial({ input: true, output: true })
  .describe('USD per million tokens')
export type Rates = z.infer<typeof Rates>
