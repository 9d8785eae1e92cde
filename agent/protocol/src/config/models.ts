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

const names = z.array(z.string())

/**
 * What a model server accepts. A request is composed so that it satisfies these facts. The catalogue states
 * them for one model; the defaults and what is learned from refusals are in @cairn/models.
 */
export const ServerProfile = z.strictObject({
  vision: z.boolean().describe('the model accepts images; false: it reads a note in place of each image'),
  max_images: z.int().positive().nullable().describe('images per request; the newest are kept'),
  omitted_images: names.describe('images that are left out, as hashes of their data'),
  strict_roles: z
    .boolean()
    .describe('user and assistant must alternate, and an assistant message must follow tool results'),
  system_role: z.enum(['system', 'user']).describe('user: the model has no system role'),
  empty_call_content: z
    .enum(['null', 'empty'])
    .describe('content of a message that has only tool calls: null or an empty text'),
  tool_name_pattern: z.string().describe('regular expression of tool names'),
  tool_id_pattern: z.string().describe('regular expression of the ids of tool calls'),
  tool_id_length: z.int().min(6).max(64).describe('length of an id that replaces one that does not match'),
  max_tools: z.int().positive().nullable(),
  max_description: z.int().positive().nullable().describe('characters of the description of a tool'),
  omitted_keywords: names.describe('JSON Schema keywords that are left out of tool schemas'),
  keeps_reasoning: z
    .enum(['none', 'turn', 'all'])
    .describe('messages whose reasoning text is sent back: none, those of the running turn, or all'),
  thought_signatures: z.boolean().describe('the first tool call of a message needs a thought signature'),
  max_tokens_field: z.enum(['max_tokens', 'max_completion_tokens']),
  max_tokens_limit: z.int().positive().nullable().describe('max value of that field'),
  thinking: z.enum(['adaptive', 'budget']).describe('how Anthropic models are asked to think'),
  omitted_fields: names.describe('optional request fields that are left out'),
  omitted_tools: names.describe('tools that are left out, as name@hash of the definition'),
})
export type ServerProfile = z.infer<typeof ServerProfile>

export const Rates = z
  .strictObject({
    input: z.number().nonnegative(),
    output: z.number().nonnegative(),
    cache_read: z.number().nonnegative().optional(),
    cache_write: z.number().nonnegative().optional(),
    context_window: z.int().positive().default(128_000),
    max_output_tokens: z.int().positive().optional(),
    reasoning: z.boolean().default(false),
    server: ServerProfile.partial()
      .optional()
      .describe('what the model server accepts, where that differs from what is known about its host'),
  })
  .partial({ input: true, output: true })
  .describe('USD per million tokens')
export type Rates = z.infer<typeof Rates>
