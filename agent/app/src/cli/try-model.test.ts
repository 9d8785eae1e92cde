/** What `cairn doctor` reports about model servers, against servers of the zoo. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startZoo, ZOO, type ZooName, type ZooServer } from '@cairn/scripted-model/test/zoo'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkModels } from './check-models.ts'
import { tryModel } from './try-model.ts'

const NAMES = ['openai', 'ollama', 'anthropic', 'lm-studio'] as const satisfies readonly ZooName[]
let zoo: ZooServer
let dir: string
let env: Record<string, string>

beforeAll(async () => {
  zoo = await startZoo({
    rules: [
      { when: { model: 'talker' }, answer: { text: 'I see red.' } },
      {
        when: { model: 'colorblind' },
        answer: { tool_calls: [{ name: 'report_color', arguments: { color: 'blue' } }] },
      },
      { answer: { tool_calls: [{ name: 'report_color', arguments: { color: 'Red' } }] } },
    ],
  })
  dir = mkdtempSync(join(tmpdir(), 'cairn-doctor-'))
  const file = join(dir, 'cairn.yaml')
  const providers = Object.fromEntries(
    NAMES.map(name => [name, { kind: ZOO[name].protocol, base_url: zoo.url(name) }]),
  )
  writeFileSync(
    file,
    JSON.stringify({
      models: { default: 'openai/model', providers: { ...providers, demo: { kind: 'scripted' } } },
      agents: { helper: { model: 'openai/modle' }, other: { model: 'anthropic/model' } },
    }),
  )
  env = { CAIRN_CONFIG: file }
})
afterAll(async () => {
  await zoo[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

const trying = (name: string) => tryModel(env, dir, name, new AbortController().signal)
const lines = async (name: string) =>
  (await trying(name)).map(({ check, verdict, detail }) => `${verdict} ${check}: ${detail}`)

test('says when a server does not list the model of an agent, or the one that is asked for', async () => {
  const found = await checkModels(env, ['ollama/gone'])
  expect(found.filter(({ verdict }) => verdict !== 'ok')).toEqual([
    {
      check: 'model openai',
      verdict: 'warn',
      detail: `${zoo.url('openai')} does not list the model "modle". Did you mean "model"?`,
    },
    {
      check: 'model ollama',
      verdict: 'warn',
      detail: `${zoo.url('ollama')} does not list the model "gone". It lists: model`,
    },
  ])
  expect(found).toContainEqual({
    check: 'model anthropic',
    verdict: 'ok',
    detail: `${zoo.url('anthropic')} is reachable and lists 1 model`,
  })
})

test('calls the model with a tool and a picture, and shows what was learned and what holds', async () => {
  const found = await lines('openai/model')
  expect(found.slice(0, 3)).toEqual([
    expect.stringMatching(/^ok model openai\/model: answered in [\d.]+ s \(120 input and 30 output tokens/),
    'ok tools: the model called report_color with {"color":"Red"}',
    'ok pictures: the model saw the red picture',
  ])
  expect(found).toContainEqual(
    expect.stringMatching(
      /^ok server of openai\/model: max_tokens_field is "max_completion_tokens" \(learned at 2\S+ from: .*'max_tokens' is not supported/,
    ),
  )
  expect(found).toContainEqual('ok server of openai/model: vision is true (default)')
})

test('what it learned is kept: the next call is not refused', async () => {
  await trying('ollama/model')
  const before = zoo.refused('ollama').length
  expect(before).toBe(1)
  const found = await lines('ollama/model')
  expect(zoo.refused('ollama').length).toBe(before)
  expect(found).toContainEqual(
    'warn pictures: the server accepts no pictures; the model reads a note in their place',
  )
  expect(found).toContainEqual(
    expect.stringMatching(/^ok server of ollama\/model: vision is false \(learned at .*image input/),
  )
})

test.each([
  [
    'a model that calls no tool',
    'anthropic/talker',
    /^warn tools: the model did not call the tool; it wrote "I see red\."/,
  ],
  [
    'a model that sees another color',
    'anthropic/colorblind',
    /^warn pictures: the server accepted the picture, but/,
  ],
  ['an unknown provider', 'nobody/model', /^fail model nobody\/model: unknown model provider "nobody"/],
  ['a name without a provider', 'model', /^fail model model: invalid model name "model"/],
  ['the demo model', 'demo/model', /^ok model demo\/model: answers from a scenario/],
])('reports %s', async (_, name, said) => {
  expect(await lines(name)).toContainEqual(expect.stringMatching(said))
})
