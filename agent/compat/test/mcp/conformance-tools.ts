/** The tools that the conformance suite of MCP calls by name. */
import {
  type ContentBlock,
  inputRequired,
  MissingRequiredClientCapabilityError,
  type Tool,
} from '@modelcontextprotocol/server'
import { setTimeout as pause } from 'node:timers/promises'
import type { McpTool, ToolCall, ToolOutcome } from '../../src/mcp/server.ts'

/** One red pixel, and a WAV file without samples. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA='

export const text = (value: string): ContentBlock => ({ type: 'text', text: value })
export const says = (value: string): ToolOutcome => ({ content: [text(value)] })

type Run = (args: Record<string, unknown>, call: ToolCall) => ToolOutcome | Promise<ToolOutcome>
export const fixture = (
  name: string,
  run: Run,
  inputSchema: Tool['inputSchema'] = { type: 'object' },
): McpTool => ({
  definition: { name, description: `Conformance fixture ${name}.`, inputSchema },
  run: async (args, call) => run(args, call),
})

const strings = (...names: string[]): Tool['inputSchema'] => ({
  type: 'object',
  properties: Object.fromEntries(names.map(name => [name, { type: 'string' }])),
  required: names,
})

const CONTENT = [
  fixture('test_simple_text', () => says('This is a simple text response for testing.')),
  fixture('test_image_content', () => ({ content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] })),
  fixture('test_audio_content', () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] })),
  fixture('test_embedded_resource', () => ({
    content: [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ],
  })),
  fixture('test_multiple_content_types', () => ({
    content: [
      text('Multiple content types test:'),
      { type: 'image', data: PNG, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ],
  })),
  fixture('test_error_handling', () => ({
    content: [text('This tool intentionally returns an error for testing')],
    isError: true,
  })),
  fixture('json_schema_2020_12_tool', () => says('ok'), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  }),
]

const NOTIFYING = [
  fixture('test_tool_with_progress', async (_, { context: { mcpReq } }) => {
    const progressToken = mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 100 },
        })
      await pause(5)
    }
    return says('Progress completed.')
  }),
  ...['test_tool_with_logging', 'test_logging_tool'].map(name =>
    fixture(name, async (_, { context: { mcpReq } }) => {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await mcpReq.log('info', data)
        await pause(5)
      }
      return says('Logged.')
    }),
  ),
]

export const form = (
  message: string,
  properties: Record<string, object>,
  required: string[] = Object.keys(properties),
) => ({
  method: 'elicitation/create' as const,
  params: {
    mode: 'form' as const,
    message,
    requestedSchema: { type: 'object' as const, properties, required } as never,
  },
})

/** Asks with one form, and says what came back. */
const echoes = (
  name: string,
  ask: (args: Record<string, unknown>) => ReturnType<typeof form>,
  schema?: Tool['inputSchema'],
): McpTool =>
  fixture(
    name,
    (args, { inputResponses }) => {
      const response = inputResponses?.['asked'] as { action: string; content?: unknown } | undefined
      if (response === undefined) return inputRequired({ inputRequests: { asked: ask(args) } })
      const content = JSON.stringify(response.content ?? {})
      return says(`Elicitation completed: action=${response.action}, content=${content}`)
    },
    schema,
  )

const titled = (values: string[]) => values.map((value, at) => ({ const: value, title: `Option ${at + 1}` }))
const OPTIONS = ['option1', 'option2', 'option3']

export const SAMPLE = (prompt: string, maxTokens = 100) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
    maxTokens,
  })

const ASKING = [
  echoes(
    'test_elicitation',
    ({ message }) =>
      form(String(message), {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      }),
    strings('message'),
  ),
  echoes('test_elicitation_sep1034_defaults', () =>
    form('Defaults', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  ),
  echoes('test_elicitation_sep1330_enums', () =>
    form('Choices', {
      untitledSingle: { type: 'string', enum: OPTIONS },
      titledSingle: { type: 'string', oneOf: titled(['value1', 'value2', 'value3']) },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
      titledMulti: { type: 'array', items: { anyOf: titled(['value1', 'value2', 'value3']) } },
    }),
  ),
  fixture(
    'test_sampling',
    ({ prompt }, { inputResponses }) => {
      const answer = inputResponses?.['sampled'] as { content?: { text?: string } } | undefined
      return answer === undefined
        ? inputRequired({ inputRequests: { sampled: SAMPLE(String(prompt)) } })
        : says(`LLM response: ${answer.content?.text ?? ''}`)
    },
    strings('prompt'),
  ),
  fixture('test_missing_capability', (_, { capabilities }) => {
    if (capabilities.sampling === undefined)
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
    return says('ok')
  }),
  fixture('test_streaming_elicitation', (_, { inputResponses }) =>
    inputResponses === null
      ? inputRequired({ inputRequests: { asked: form('Name?', { name: { type: 'string' } }) } })
      : says('ok'),
  ),
]

export const CONFORMANCE_TOOLS: readonly McpTool[] = [...CONTENT, ...NOTIFYING, ...ASKING]
