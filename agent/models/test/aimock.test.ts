/** Another project's implementation of both protocols: a published mock server, over real HTTP. */
import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAnthropic } from '../src/anthropic.ts'
import { createOpenAI } from '../src/openai.ts'
import type { ModelAnswer, ModelMessage, ModelProvider, ModelRequest } from '../src/provider.ts'

const mock = new LLMock({ port: 0, logLevel: 'silent' })
mock.addFixture({
  match: { userMessage: 'weather', hasToolResult: false },
  response: {
    content: 'Let me look. ☂',
    toolCalls: [{ name: 'get_weather', arguments: '{"city":"Zürich"}' }],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18, input_tokens: 11, output_tokens: 7 },
  },
})
mock.addFixture({
  match: { userMessage: 'weather', hasToolResult: true },
  response: { content: 'It rains in Zürich.' },
})
mock.addFixture({
  match: { userMessage: 'ponder' },
  response: { content: 'Yes.', reasoning: 'Hmm, let me see.' },
})

const providers: Record<string, () => ModelProvider> = {
  openai: () => createOpenAI({ name: 'openai', baseUrl: `${mock.url}/v1`, apiKey: 'k' }),
  anthropic: () => createAnthropic({ name: 'anthropic', baseUrl: mock.url, apiKey: 'k' }),
}
const tools = [
  {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
]
const collect = async (
  provider: ModelProvider,
  messages: ModelMessage[],
): Promise<ModelAnswer & { shown: string }> => {
  const request: ModelRequest = { model: 'any', messages, tools }
  let shown = ''
  const answer = await provider.call(
    request,
    chunk => {
      if (chunk.type === 'text') shown += chunk.text
    },
    new AbortController().signal,
  )
  return { ...answer, shown }
}

beforeAll(() => mock.start())
afterAll(() => mock.stop())

test.each(Object.keys(providers))('%s: a tool call, its result, and the answer', async name => {
  const provider = providers[name]?.()
  if (!provider) throw new Error(name)
  const first = await collect(provider, [{ role: 'user', content: 'How is the weather?' }])
  expect(first).toMatchObject({
    finish_reason: 'tool_calls',
    shown: 'Let me look. ☂',
    message: { content: 'Let me look. ☂', tool_calls: [{ function: { name: 'get_weather' } }] },
  })
  const [call] = first.message.tool_calls ?? []
  if (!call) throw new Error('no tool call')
  expect(JSON.parse(call.function.arguments)).toEqual({ city: 'Zürich' })
  expect(first.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 })

  const second = await collect(provider, [
    { role: 'user', content: 'How is the weather?' },
    first.message,
    { role: 'tool', tool_call_id: call.id, content: '{"sky":"rain"}' },
  ])
  expect(second).toMatchObject({
    finish_reason: 'stop',
    shown: 'It rains in Zürich.',
    message: { role: 'assistant', content: 'It rains in Zürich.' },
  })
  await provider.close?.()
})

test.each(Object.keys(providers))('%s: separates reasoning from the answer', async name => {
  const provider = providers[name]?.()
  if (!provider) throw new Error(name)
  expect(await collect(provider, [{ role: 'user', content: 'Please ponder.' }])).toMatchObject({
    reasoning: 'Hmm, let me see.',
    message: { content: 'Yes.' },
  })
  await provider.close?.()
})
