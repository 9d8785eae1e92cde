import { Config, type ConfigInput } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { createModels } from './registry.ts'

const models = (input: NonNullable<ConfigInput['models']>) => Config.parse({ models: input }).models

const configured = models({
  providers: {
    openai: { kind: 'openai' },
    claude: { kind: 'anthropic', api_key_env: 'MY_CLAUDE_KEY' },
    local: { kind: 'openai', base_url: 'http://127.0.0.1:9/v1' },
    demo: { kind: 'scripted' },
  },
  catalog: { 'openai/gpt-x': { input: 1, output: 2, context_window: 400_000, reasoning: true } },
})

test("a name resolves to its provider, the server's own model name, rates and window", async () => {
  const registry = createModels(configured, { OPENAI_API_KEY: 'sk-1' })
  const found = registry.resolve('openai/gpt-x')
  expect(found).toMatchObject({
    name: 'openai/gpt-x',
    model: 'gpt-x',
    contextWindow: 400_000,
    reasoning: true,
    scripted: false,
    rates: { input: 1, output: 2 },
  })
  expect(registry.resolve('openai/org/other')).toMatchObject({
    model: 'org/other',
    contextWindow: 128_000,
    reasoning: false,
    rates: undefined,
  })
  expect(registry.resolve('openai/org/other').provider).toBe(found.provider)
  await registry.close()
})

test('an unknown provider is an error that names the defined providers', () => {
  expect(() => createModels(configured, {}).resolve('opnai/gpt-x')).toThrow(
    'unknown model provider "opnai"; defined providers: openai, claude, local, demo',
  )
  expect(() => createModels(models({}), {}).resolve('x/y')).toThrow('defined providers: none')
  expect(() => createModels(configured, {}).resolve('gpt-x')).toThrow(
    'invalid model name "gpt-x": must be <provider>/<model>',
  )
})

test('a missing key is an error that names its variable, and only when the provider is used', () => {
  const registry = createModels(configured, { MY_CLAUDE_KEY: '' })
  expect(() => registry.resolve('openai/gpt-x')).toThrow(
    'provider "openai" needs its API key in the environment variable OPENAI_API_KEY, which is not set',
  )
  expect(() => registry.resolve('claude/c')).toThrow('MY_CLAUDE_KEY, which is empty')
  expect(registry.resolve('local/anything').model).toBe('anything')
})

test('secrets has the values of the keys for redaction, used or not', () => {
  expect(
    createModels(configured, { OPENAI_API_KEY: 'sk-1', MY_CLAUDE_KEY: 'sk-2', OTHER: 'x' }).secrets,
  ).toEqual(['sk-1', 'sk-2'])
})

test('a scripted model requires its server', () => {
  expect(
    createModels(configured, {}, { demo: 'http://127.0.0.1:9/v1' }).resolve('demo/scripted'),
  ).toMatchObject({ scripted: true, model: 'scripted' })
  expect(() => createModels(configured, {}).resolve('demo/scripted')).toThrow(
    'the scripted model server of provider "demo" is not running',
  )
})
