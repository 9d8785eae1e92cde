/**
 * The answers of a scripted model as data: rules in order, of which the first that matches the conversation
 * answers. Everything is deterministic; a scenario without a matching rule is an error for the caller.
 */
import { asError } from '@cairn/protocol'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { ModelError } from '@cairn/models'
import { unknownPlaceholders } from './template.ts'

const pattern = z
  .string()
  .superRefine((source, context) => {
    const fault = patternFault(source)
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
  })
  .describe('regular expression, case-insensitive')
const template = z.string().superRefine((text, context) => {
  for (const unknown of unknownPlaceholders(text))
    context.addIssue({ code: 'custom', message: `has the unknown placeholder {{${unknown}}}` })
})
/** Templates anywhere in JSON-like data. */
const data: z.ZodType<unknown> = z.lazy(() =>
  z.union([template, z.number(), z.boolean(), z.null(), z.array(data), z.record(z.string(), data)]),
)
const ms = z.number().nonnegative()
const count = z.int().nonnegative()

/** Conditions; all given ones must hold. Without `schema` a rule applies to ordinary calls only. */
const When = z.strictObject({
  user: pattern.optional().describe('the last user message; its groups are {{user.1}}, {{user.2}} …'),
  system: pattern.optional().describe('the system prompt'),
  model: pattern.optional(),
  tool: z.string().optional().describe('the conversation ends with a result of this tool'),
  result: pattern.optional().describe('the conversation ends with a tool result like this'),
  called: z
    .union([z.string(), z.strictObject({ tool: z.string(), arguments: pattern })])
    .optional()
    .describe('this tool was called at some point; its last call had arguments (JSON text) like these'),
  turn: count.optional().describe('user messages so far, from 1'),
  step: count.optional().describe('answers of the model since the last user message, from 0'),
  tool_calls: count.optional().describe('tool calls since the last user message'),
  offers: z.array(z.string()).optional().describe('all these tools are offered'),
  tools_disabled: z.boolean().optional().describe('no tool is offered, or at least one is'),
  schema: z
    .union([z.literal(true), z.string()])
    .optional()
    .describe('an answer with the JSON schema of this name is requested'),
})

const Call = z.union([
  z.strictObject({
    name: template,
    id: z.string().optional(),
    arguments: z.record(z.string(), data).default({}),
  }),
  z.strictObject({
    name: template,
    id: z.string().optional(),
    raw_arguments: z.string().describe('sent unchanged, to test invalid JSON'),
  }),
  z.strictObject({
    repeat: z.string().describe('repeats the last call of this tool with the same arguments'),
  }),
])
const Failure = z.strictObject({
  status: z
    .int()
    .min(400)
    .max(599)
    .optional()
    .describe('absent: the error comes within the answer, after its text'),
  message: z.string().default('scripted failure'),
  type: z.string().optional(),
  code: z.string().optional(),
  headers: z.record(z.string(), z.string()).default({}),
})

const Answer = z
  .strictObject({
    reasoning: template.optional(),
    text: template.optional(),
    tool_calls: z.array(Call).optional(),
    json: data.optional().describe('an object, sent as JSON text'),
    empty: z.literal(true).optional().describe('an empty completion'),
    error: Failure.optional(),
    hang: z.literal(true).optional().describe('sends the answer, then nothing until the client disconnects'),
    cut_off: z.literal(true).optional().describe('closes the connection before the end of the answer'),
    delay_ms: ms.optional().describe('before the first byte'),
    pace_ms: ms.optional().describe('between chunks'),
    chunk_chars: z.int().positive().optional(),
    finish_reason: z.string().optional(),
    usage: z
      .strictObject({
        input_tokens: count,
        output_tokens: count,
        reasoning_tokens: count.default(0),
        cache_read_tokens: count.default(0),
      })
      .optional(),
  })
  .refine(
    answer =>
      ['reasoning', 'text', 'tool_calls', 'json', 'empty', 'error', 'hang', 'cut_off'].some(
        key => key in answer,
      ),
    'is empty: give text, tool_calls, json, empty, error, hang or cut_off',
  )

const tools = z.array(z.string()).optional()
const Step = Answer.safeExtend({
  needs: tools.describe('skipped unless all these tools are offered'),
  without: tools.describe('skipped if all these tools are offered'),
})

const Rule = z
  .strictObject({
    name: z.string().optional(),
    when: When.default({}),
    times: z
      .int()
      .positive()
      .optional()
      .describe('maximum number of answers per server; then the rule is skipped'),
    answer: Answer.optional(),
    steps: z
      .array(Step)
      .min(1)
      .optional()
      .describe('one answer per step since the last user message; then the rule is skipped'),
  })
  .refine(rule => (rule.answer === undefined) !== (rule.steps === undefined), 'needs either answer or steps')

export const Scenario = z.strictObject({
  name: z.string().default('scripted'),
  pace_ms: ms.default(0),
  chunk_chars: z.int().positive().default(24),
  rules: z.array(Rule).min(1),
})
export type Scenario = z.infer<typeof Scenario>
export type ScenarioInput = z.input<typeof Scenario>
export type ScenarioRule = Scenario['rules'][number]
export type ScenarioAnswer = NonNullable<ScenarioRule['answer']>

function patternFault(source: string): string | undefined {
  try {
    return RegExp(source, 'i') && undefined
  } catch (error) {
    return `is not a regular expression: ${asError(error).message}`
  }
}

/**
 * Validates scenario data; the error lists every invalid place. `source` is the file's name or another label.
 */
export function parseScenario(input: unknown, source = 'scenario'): Scenario {
  const parsed = Scenario.safeParse(input)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(
    issue => `  ${z.core.toDotPath(issue.path) || '(top level)'}: ${issue.message}`,
  )
  throw new ModelError('configuration', `${source} is not a scenario:\n${faults.join('\n')}`, {
    retryable: false,
    cause: parsed.error,
  })
}

/** A scenario from YAML text. */
export function readScenario(yaml: string, source = 'scenario'): Scenario {
  const document = parseDocument(yaml)
  if (document.errors.length > 0) {
    throw new ModelError(
      'configuration',
      `${source} is not YAML:\n${document.errors.map(error => `  ${error.message}`).join('\n')}`,
      { retryable: false, cause: document.errors[0] },
    )
  }
  return parseScenario(document.toJS(), source)
}
