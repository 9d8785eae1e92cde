/** Administrators change agents, providers, MCP servers and skills of a running service. */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiError } from '@cairn/client'
import type { CairnClient } from '@cairn/client'
import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { startKeyedMcp, startKeyedModel } from './keyed-servers.ts'
import { cairn, makePlace, type RunningService, startServer, startService } from './server.ts'
import { isType, newSession, PATIENCE_MS, readLog, runTurn } from './session.ts'

const KEY = `plain.words/${'provider'.repeat(3)}`
const MCP_KEY = `plain.words/${'weather'.repeat(3)}`
const SCENARIO = {
  rules: [
    {
      when: { user: 'weather' },
      steps: [
        { tool_calls: [{ name: 'mcp__weather__forecast', arguments: { city: 'Cluj' } }] },
        { text: 'It will be sunny.' },
      ],
    },
    { answer: { text: 'Understood.' } },
  ],
}

const answerOf = (events: readonly SessionEvent[]): string =>
  events.findLast(isType('llm.response'))?.data.message.content ?? ''
/** The prompt of the latest turn, without the prompts for titles. */
const promptOf = ({ accepted }: { accepted: readonly string[] }): string => {
  const prompts = accepted.flatMap(body => {
    const { messages = [] } = JSON.parse(body || '{}') as { messages?: { role: string; content: string }[] }
    return messages.filter(({ role }) => role === 'system').map(({ content }) => content)
  })
  return prompts.findLast(prompt => !prompt.startsWith('You name conversations.')) ?? ''
}
const refused = (run: Promise<unknown>): Promise<ApiError> =>
  run.then(
    () => expect.unreachable('the request was accepted'),
    (error: unknown) => {
      if (error instanceof ApiError) return error
      throw error
    },
  )

/** What a new administrator does: a provider with its key, and the default agent with a model and a prompt. */
async function setUp(client: CairnClient, url: string, system: string): Promise<void> {
  const name = { name: 'acme' }
  await client.call('publishProvider', {
    params: name,
    body: {
      base_version: 0,
      settings: { kind: 'openai', base_url: `${url}/v1`, models: { large: { input: 1, output: 2 } } },
    },
  })
  await client.call('setProviderKey', { params: name, body: { key: KEY } })
  await client.call('publishAgent', {
    params: { name: 'assistant' },
    body: { base_version: 0, settings: { model: 'acme/large', system }, note: 'first' },
  })
}

test('an agent runs with a provider, a key, an MCP server and a prompt that were set while the service ran', async () => {
  const model = await startKeyedModel([KEY], SCENARIO)
  const mcp = await startKeyedMcp(MCP_KEY)
  const service = await startService(makePlace())
  const { client } = service
  expect((await client.call('about', {})).demo).toBe(true)
  const old = await newSession(client)
  await runTurn(client, old, 'hello')

  await setUp(client, model.url, 'You are brief.')
  expect(await client.call('testProvider', { params: { name: 'acme' }, body: {} })).toMatchObject({
    ok: true,
    models: ['small', 'large'],
  })
  const called = await client.call('testProvider', { params: { name: 'acme' }, body: { model: 'large' } })
  expect(called).toMatchObject({ ok: true, advice: null })
  await client.call('publishMcpServer', {
    params: { name: 'weather' },
    body: { base_version: 0, settings: { url: `${mcp.url}/mcp`, headers: ['x-weather-key'] } },
  })
  expect(await client.call('testMcpServer', { params: { name: 'weather' }, body: {} })).toMatchObject({
    ok: false,
    tools: [],
  })
  await client.call('setMcpServerSecrets', {
    params: { name: 'weather' },
    body: { secrets: { 'x-weather-key': MCP_KEY } },
  })
  expect(await client.call('testMcpServer', { params: { name: 'weather' }, body: {} })).toMatchObject({
    ok: true,
    tools: [{ name: 'mcp__weather__forecast' }],
  })

  const about = await client.call('about', {})
  expect(about.demo).toBe(false)
  expect(about.models).toContain('acme/large')
  const session = await newSession(client)
  const events = await runTurn(client, session, 'What about the weather?')
  expect(answerOf(events)).toBe('It will be sunny.')
  expect(events.find(isType('tool.result'))?.data.content).toContain('sunny, 24 degrees')
  expect(events.find(isType('harness.wake'))?.data).toMatchObject({ agent_version: 1 })
  expect(promptOf(model)).toContain('You are brief.')
})

test(
  'a session keeps the version it began with, also after a restart',
  async () => {
    const model = await startKeyedModel([KEY], SCENARIO)
    const place = makePlace()
    const first = await startServer(place)
    await setUp(first.client, model.url, 'One.')
    const session = await newSession(first.client)
    await runTurn(first.client, session, 'hello')
    await first.client.call('publishAgent', {
      params: { name: 'assistant' },
      body: { base_version: 1, settings: { model: 'acme/large', system: 'Two.' } },
    })
    await runTurn(first.client, session, 'again')
    expect(promptOf(model)).toContain('One.')
    await first.stop()

    const second = await startServer(place)
    await runTurn(second.client, session, 'and again')
    expect(promptOf(model)).toContain('One.')
    const log = await readLog(second.client, session)
    expect(log.filter(isType('harness.wake')).map(({ data }) => data)).toEqual(
      Array.from({ length: 3 }, () => expect.objectContaining({ agent_version: 1 })),
    )
    const fresh = await newSession(second.client)
    await runTurn(second.client, fresh, 'hello')
    expect(promptOf(model)).toContain('Two.')
    const { versions } = await second.client.call('agentVersions', { params: { name: 'assistant' } })
    expect(versions.map(({ version, sessions }) => [version, sessions])).toEqual([
      [2, 1],
      [1, 1],
    ])
  },
  PATIENCE_MS,
)

test('the second of two editors gets the text of the first, and a version can be restored', async () => {
  const { client } = await startService(makePlace())
  const params = { name: 'helper' }
  const publish = (base_version: number, system: string) =>
    client.call('publishAgent', { params, body: { base_version, settings: { system } } })
  await publish(0, 'First.')
  await publish(1, 'Second.')
  const conflict = await refused(publish(1, 'Mine.'))
  expect(conflict.status).toBe(409)
  expect(conflict.problem).toMatchObject({
    code: 'version_conflict',
    current: { version: 2, settings: { system: 'Second.' } },
  })
  expect(conflict.problem.detail).toMatch(/changed helper in the meantime: version 2 is newer than version 1/)

  const restored = await client.call('restoreAgent', { params, body: { version: 1, base_version: 2 } })
  expect(restored).toMatchObject({ version: 3, given: { system: 'First.' } })
  await client.call('removeAgent', { params, query: { base_version: 3 } })
  expect((await client.call('listAgents', {})).items.map(({ name }) => name)).not.toContain('helper')
  const { versions } = await client.call('agentVersions', { params })
  expect(versions.map(({ change, restored_from }) => [change, restored_from])).toEqual([
    ['remove', null],
    ['restore', 1],
    ['publish', null],
    ['publish', null],
  ])
  await client.call('restoreAgent', { params, body: { version: 2, base_version: 4 } })
  const { changes } = await client.call('listChanges', {})
  expect(changes.map(({ version, change, kind }) => [version, change, kind])).toEqual([
    [5, 'restore', 'agent'],
    [4, 'remove', 'agent'],
    [3, 'restore', 'agent'],
    [2, 'publish', 'agent'],
    [1, 'publish', 'agent'],
  ])
})

test(
  'cairn.yaml wins over the editor, which both show, and the edit takes effect once its lines are gone',
  async () => {
    const config = { agents: { helper: { system: 'From the file.', max_iterations: 7 } } }
    const place = makePlace({ scenario: SCENARIO, config })
    const service = await startServer(place)
    const params = { name: 'helper' }
    expect(await service.client.call('getAgent', { params })).toMatchObject({
      origin: 'file',
      overridden: false,
      version: 0,
      given: null,
      fields: { system: 'file', max_iterations: 'file', board: 'default' },
    })
    const edited = await service.client.call('publishAgent', {
      params,
      body: { base_version: 0, settings: { system: 'From the editor.' } },
    })
    expect(edited).toMatchObject({
      origin: 'file',
      overridden: true,
      version: 1,
      settings: { system: 'From the file.', max_iterations: 7 },
      given: { system: 'From the editor.' },
    })
    expect(edited.file_line).toBeGreaterThan(0)
    const shown = await cairn(place, ['config'])
    expect(shown.stderr).toContain('agent helper, version 1: overridden by this file')
    await service.stop()

    const without = await startServer({
      ...place,
      env: { ...place.env, CAIRN_CONFIG: writeConfig(place.dir) },
    })
    expect(await without.client.call('getAgent', { params })).toMatchObject({
      origin: 'editor',
      overridden: false,
      settings: { system: 'From the editor.', max_iterations: 90 },
      fields: { system: 'editor', max_iterations: 'default' },
    })
  },
  PATIENCE_MS,
)

test('names the key of a mistake, and refuses to remove what an agent uses', async () => {
  const model = await startKeyedModel([KEY], SCENARIO)
  const { client } = await startService(makePlace())
  await setUp(client, model.url, 'x')
  const wrong = await refused(
    client.call('publishAgent', {
      params: { name: 'helper' },
      body: { base_version: 0, settings: { model: 'acmee/large', tools: ['terminl'], max_iterations: 0 } },
    }),
  )
  expect(wrong.problem.errors).toEqual([
    { path: 'settings.max_iterations', message: expect.stringMatching(/Too small/) as string },
  ])
  const named = await refused(
    client.call('publishAgent', {
      params: { name: 'helper' },
      body: { base_version: 0, settings: { model: 'acmee/large', tools: ['terminl'] } },
    }),
  )
  expect(named.problem.errors?.map(({ path }) => path)).toEqual(['settings.model', 'settings.tools.0'])
  const used = await refused(
    client.call('removeProvider', { params: { name: 'acme' }, query: { base_version: 1 } }),
  )
  expect(used.problem.detail).toMatch(/acme is in use\. Without it: agents\.assistant\.model/)
})

/** Promise 11: A key that an administrator sets is in no answer, event, log line or file of the store. */
test(
  'no route, event, log line or file of the store contains a key that was set here',
  async () => {
    const model = await startKeyedModel([KEY], {
      rules: [{ answer: { text: `The key is ${KEY}, and the other is ${MCP_KEY}.` } }],
    })
    const place = makePlace()
    const service = await startServer(place)
    const { client } = service
    await setUp(client, model.url, 'x')
    await client.call('publishMcpServer', {
      params: { name: 'weather' },
      body: { base_version: 0, settings: { url: 'http://127.0.0.1:9/mcp', headers: ['x-weather-key'] } },
    })
    await client.call('setMcpServerSecrets', {
      params: { name: 'weather' },
      body: { secrets: { 'x-weather-key': MCP_KEY } },
    })
    const session = await newSession(client)
    await runTurn(client, session, `Is it ${KEY} or ${MCP_KEY}?`)
    const outputs = [
      await readLog(client, session),
      await client.call('testProvider', { params: { name: 'acme' }, body: { model: 'large' } }),
      await client.call('testMcpServer', { params: { name: 'weather' }, body: {} }),
      ...(await everyRead(service)),
      service.log(),
    ]
    await service.stop()
    const stored = readdirSync(place.dataDir, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    for (const secret of [KEY, MCP_KEY])
      for (const text of [...outputs.map(each => JSON.stringify(each)), ...stored])
        expect(text.includes(secret)).toBe(false)
  },
  PATIENCE_MS,
)

/** A key is bound to the address for which it was set: a changed address does not get it. */
test('a provider whose address changes does not get the key of the old address', async () => {
  const model = await startKeyedModel([KEY], SCENARIO)
  const other = await startKeyedModel([KEY], SCENARIO)
  const { client } = await startService(makePlace())
  await setUp(client, model.url, 'x')
  const moved = await client.call('publishProvider', {
    params: { name: 'acme' },
    body: { base_version: 1, settings: { kind: 'openai', base_url: `${other.url}/v1` } },
  })
  expect(moved.secrets).toMatchObject([{ name: 'key', state: 'unreadable' }])
  const tested = await client.call('testProvider', { params: { name: 'acme' }, body: { model: 'large' } })
  expect(tested.ok).toBe(false)
  expect(other.accepted).toEqual([])
  await client.call('setProviderKey', { params: { name: 'acme' }, body: { key: KEY } })
  const again = await client.call('testProvider', { params: { name: 'acme' }, body: { model: 'large' } })
  expect(again.ok).toBe(true)
})

async function everyRead({ client }: Pick<RunningService, 'client'>): Promise<unknown[]> {
  return [
    await client.call('listAgents', {}),
    await client.call('getAgent', { params: { name: 'assistant' } }),
    await client.call('listProviders', {}),
    await client.call('getProvider', { params: { name: 'acme' } }),
    await client.call('providerVersions', { params: { name: 'acme' } }),
    await client.call('listMcpServers', {}),
    await client.call('getMcpServer', { params: { name: 'weather' } }),
    await client.call('mcpServerVersions', { params: { name: 'weather' } }),
    await client.call('listChanges', {}),
    await client.call('about', {}),
  ]
}

/** The configuration of the scripted model without the agent. */
function writeConfig(dir: string): string {
  const path = join(dir, 'without.yaml')
  writeFileSync(
    path,
    'models: {default: test/scripted, providers: {test: {kind: scripted, scenario: ./scenario.yaml}}}\n',
  )
  return path
}
