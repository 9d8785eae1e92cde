/** A whole turn with a tool call against a third-party model server, through each provider. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makePlace, startServer } from './server.ts'
import { isType, newSession, runTurn } from './session.ts'

const mock = new LLMock({ port: 0, logLevel: 'silent' })
mock.addFixture({
  match: { userMessage: 'note', hasToolResult: false },
  response: {
    content: 'I write it down.',
    toolCalls: [{ name: 'write_file', arguments: '{"path":"note.txt","content":"Zürich ☂"}' }],
  },
})
mock.addFixture({
  match: { userMessage: 'note', hasToolResult: true },
  response: { content: 'It is written.' },
})
mock.addFixture({ match: { userMessage: 'title' }, response: { content: 'A note' } })

beforeAll(() => mock.start())
afterAll(() => mock.stop())

test.each([
  ['openai', () => ({ kind: 'openai', base_url: `${mock.url}/v1`, api_key_env: 'SOME_KEY' })],
  ['anthropic', () => ({ kind: 'anthropic', base_url: mock.url, api_key_env: 'SOME_KEY' })],
] as const)('runs a turn with a tool call through %s', async (name, provider) => {
  const place = makePlace({
    config: { models: { default: `${name}/some-model`, providers: { [name]: provider() } } },
  })
  place.env['SOME_KEY'] = 'a-key-of-the-test-that-is-long-enough'
  const { client, demo } = await startServer(place)
  expect(demo).toBe(false)
  const id = await newSession(client)
  const turn = await runTurn(client, id, 'Please take a note.')
  expect(
    turn
      .filter(event => event.type !== 'llm.delta' && event.type !== 'session.title_updated')
      .map(event => event.type),
  ).toEqual([
    'user.message',
    'harness.wake',
    'llm.request',
    'llm.response',
    'tool.call',
    'tool.result',
    'iteration.summary',
    'llm.request',
    'llm.response',
    'iteration.summary',
    'turn.summary',
    'session.complete',
  ])
  expect(turn.findLast(isType('llm.response'))).toMatchObject({
    data: {
      message: { content: 'It is written.' },
      model: `${name}/some-model`,
      cost_unpriced_model: `${name}/some-model`,
    },
  })
  expect(readFileSync(join(place.workspaces, id, 'note.txt'), 'utf8')).toBe('Zürich ☂')
  expect(JSON.stringify(turn)).not.toContain('a-key-of-the-test')
})
