/** The body of /v1/responses, in the format of the OpenAI API. */
import { z } from 'zod'

const part = z.looseObject({ type: z.string(), text: z.string().optional() })
const content = z.union([z.string(), z.array(part)], {
  error: 'Invalid input: expected a string or a list of parts with a type',
})
const item = z.looseObject({
  type: z.string().nullish(),
  role: z.string().nullish(),
  content: content.nullish(),
  call_id: z.string().nullish(),
  name: z.string().nullish(),
  arguments: z.string().nullish(),
  output: content.nullish(),
})
const tool = z.looseObject({
  type: z.literal('function', { error: 'only tools of type function are supported' }),
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
})
const format = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({ type: z.literal('json_schema'), name: z.string(), schema: z.unknown() }),
])

export const responsesRequest = z.looseObject({
  model: z.string().nullish(),
  input: z.union([z.string(), z.array(item).min(1)], {
    error: 'Invalid input: expected a string or a list of items',
  }),
  instructions: z.string().nullish(),
  max_output_tokens: z.int().positive().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.looseObject({ type: z.literal('function'), name: z.string() }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  text: z.looseObject({ format: format.nullish() }).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
})

export type ResponsesRequest = z.infer<typeof responsesRequest>
export type InputItem = z.infer<typeof item>
