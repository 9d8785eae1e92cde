/** Export of spans to OpenTelemetry. */
import { z } from 'zod'

export const OtelConfig = z.strictObject({
  endpoint: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .describe('URL of a collector that takes OTLP over HTTP, such as http://localhost:4318'),
  headers_env: z
    .string()
    .min(1)
    .optional()
    .describe('name of the environment variable with headers for the collector: name=value,name=value'),
  content: z
    .boolean()
    .default(false)
    .describe('whether spans contain messages, and arguments and results of tools'),
  users: z.boolean().default(false).describe('whether spans contain ids of persons'),
  interval_s: z.number().min(0.1).max(60).default(2).describe('seconds between two batches'),
})
