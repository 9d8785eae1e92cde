/** Settings of two organisations and of two processes on one store, and secrets that stay where they belong. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SettingPerson } from '@cairn/api'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import type { SessionRow } from '@cairn/log'
import { createLearnedFacts } from '@cairn/models'
import { AppError } from '@cairn/protocol'
import { createSealing } from '@cairn/sessions'
import { expect, onTestFinished, test } from 'vitest'
import { parseConfigFile } from '../config/parse-config.ts'
import { createOrgConfigs, providerKeys } from './org-configs.ts'
import { createReach } from './reach.ts'
import { createSessionScopes } from './session-scopes.ts'
import { createSettings } from './settings-service.ts'

const ANN: SettingPerson = { org_id: 'org_1', id: 'ann', admin: true }
const BOB: SettingPerson = { org_id: 'org_2', id: 'bob', admin: true }
const PROVIDER = { kind: 'openai', base_url: 'http://127.0.0.1:1/v1' }
const noServers = {
  tools: () => [],
  prepare: () => Promise.resolve(),
  find: () => Promise.resolve(null),
  ready: Promise.resolve(),
  stop: () => Promise.resolve(),
}

async function open({ text = '', isLocal = true }: { text?: string; isLocal?: boolean } = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-settings-'))
  const store = await openStoreInProcess({ dir })
  onTestFinished(async () => {
    await store.close()
    await rm(dir, { recursive: true, force: true })
  })
  for (const { org_id, id } of [ANN, BOB]) {
    const row = { id: `session of ${id}`, org_id, created_by: id, agent: 'assistant', channel: 'web' }
    await store.sessions.create({ ...row, created_by_kind: 'user', title: null, config: {} })
    const user = { id, org_id, email: `${id}@example.org`, name: id, admin: true, password_hash: null }
    await store.accounts.createUser(user)
  }
  const sealing = createSealing({ file: join(dir, 'secrets.key') })
  const { config: file, source } = parseConfigFile(text, 'cairn.yaml')
  /** A process on the store. */
  const start = () => {
    const learned: string[] = []
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
    const orgs = createOrgConfigs({
      file,
      source,
      settings: store.settings,
      sealing,
      learnSecrets: secrets => void learned.push(...secrets),
      log,
    })
    const reach = createReach(file, isLocal)
    onTestFinished(() => reach.close())
    const shared = { orgs, store, reach, env: {}, scriptedUrls: {} }
    const settings = createSettings({
      ...shared,
      sealing,
      fileSkills: () => Promise.resolve(new Map()),
      boxes: () => null,
    })
    const scopes = createSessionScopes({
      ...shared,
      learned: createLearnedFacts(),
      secrets: [],
      tools: [],
      demoTools: new Set(),
      mcp: noServers,
      mcpParts: { boxes: () => Promise.reject(new Error('no sandbox')), logger: () => {} },
      demoConfig: config => config,
    })
    onTestFinished(() => scopes.close())
    return { orgs, settings, scopes, learned }
  }
  const session = async (id: string): Promise<SessionRow> => (await store.sessions.get(id))!
  return { store, start, session }
}

const publish = (service: ReturnType<Awaited<ReturnType<typeof open>>['start']>, person: SettingPerson) =>
  service.settings.publish(person, 'provider', 'acme', { settings: PROVIDER, base_version: 0 })
const refused = (run: Promise<unknown>): Promise<AppError> =>
  run.then(
    () => expect.unreachable('the change was accepted'),
    (error: unknown) => {
      if (error instanceof AppError) return error
      throw error
    },
  )

test('settings, versions, secrets and the audit trail belong to one organisation', async () => {
  const { start, session } = await open()
  const service = start()
  const { settings, orgs, scopes } = service
  await publish(service, ANN)
  await settings.setProviderKey(ANN, 'acme', 'the key of ann')
  await settings.publish(ANN, 'agent', 'assistant', {
    settings: { model: 'acme/large', system: 'Of Ann.' },
    base_version: 0,
  })

  expect((await settings.list(BOB, 'provider')).items.map(({ name }) => name)).toEqual(['demo'])
  expect((await refused(settings.get(BOB, 'provider', 'acme'))).code).toBe('not_found')
  expect((await settings.versions(BOB, 'agent', 'assistant')).versions).toEqual([])
  expect((await settings.changes(BOB, undefined)).changes).toEqual([])
  expect((await refused(settings.setProviderKey(BOB, 'acme', 'x'))).code).toBe('not_found')
  expect((await refused(settings.testProvider(BOB, 'acme', undefined))).code).toBe('not_found')
  const removal = settings.remove(BOB, 'agent', 'assistant', 1)
  expect((await refused(removal)).code).toBe('not_found')
  const again = { version: 1, base_version: 0 }
  expect((await refused(settings.restore(BOB, 'agent', 'assistant', again))).code).toBe('not_found')

  const ofBob = await scopes.scopeOf(await session('session of bob'))
  expect(ofBob.parts).toEqual({})
  const ofAnn = await scopes.scopeOf(await session('session of ann'))
  expect(ofAnn.parts.config?.agents['assistant']?.system).toBe('Of Ann.')
  expect(providerKeys(await orgs.of('org_1'))).toEqual({ acme: 'the key of ann' })

  // A provider of the same name in another organisation does not get the key either.
  await publish(service, BOB)
  expect(providerKeys(await orgs.of('org_2'))).toEqual({})
})

test('a row that is copied to another organisation does not give it the secret', async () => {
  const { start, store } = await open()
  const service = start()
  await publish(service, ANN)
  await publish(service, BOB)
  await service.settings.setProviderKey(ANN, 'acme', 'the key of ann')
  const key = { org_id: 'org_1', kind: 'provider_key', name: 'acme' }
  const stolen = (await store.settings.versions(key, 1))[0]!
  await store.settings.add({ ...key, org_id: 'org_2' }, 0, { ...stolen, changed_by: 'bob' })
  expect(providerKeys(await service.orgs.of('org_2'))).toEqual({})
  expect((await service.settings.get(BOB, 'provider', 'acme')).secrets).toMatchObject([
    { state: 'unreadable' },
  ])
})

test('another process uses a change and redacts a key without a restart', async () => {
  const { start, session } = await open()
  const [one, two] = [start(), start()]
  await two.orgs.of('org_1')
  await publish(one, ANN)
  await one.settings.setProviderKey(ANN, 'acme', 'the key of ann')
  await two.orgs.refresh()
  expect(two.learned).toContain('the key of ann')
  const agent = (system: string, base_version: number) =>
    one.settings.publish(ANN, 'agent', 'assistant', {
      settings: { model: 'acme/large', system },
      base_version,
    })
  await agent('One.', 0)
  const row = await session('session of ann')
  expect((await two.scopes.scopeOf(row)).parts.config?.agents['assistant']?.system).toBe('One.')
  await agent('Two.', 1)
  const scope = await two.scopes.scopeOf(row)
  expect([scope.agent_version, scope.parts.config?.agents['assistant']?.system]).toEqual([1, 'One.'])
})

test('of two changes of one version at once, one is published and the other gets its text', async () => {
  const { start } = await open()
  const { settings } = start()
  const outcomes = await Promise.allSettled(
    ['One.', 'Two.'].map(system =>
      settings.publish(ANN, 'agent', 'helper', { settings: { system }, base_version: 0 }),
    ),
  )
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const { versions } = await settings.versions(ANN, 'agent', 'helper')
  expect(versions).toHaveLength(1)
  const failed = outcomes.find(outcome => outcome.status === 'rejected')?.reason as AppError
  expect(failed.extra).toMatchObject({ current: { version: 1, settings: versions[0]?.settings } })
})

test.each([
  ['http://169.254.169.254/latest', true],
  ['http://metadata.internal/', true],
  ['http://127.0.0.1:11434/v1', false],
  ['http://10.0.0.8/v1', true],
  ['https://user:secret@acme.example/v1', true],
])('an address of a provider and of a server is judged: %s', async (url, isLocal) => {
  const { start } = await open({ isLocal })
  const { settings } = start()
  const provider = settings.publish(ANN, 'provider', 'p', {
    settings: { kind: 'openai', base_url: url },
    base_version: 0,
  })
  expect((await refused(provider)).message).toMatch(/^settings\.base_url: /)
  const server = settings.publish(ANN, 'mcp_server', 'm', { settings: { url }, base_version: 0 })
  expect((await refused(server)).message).toMatch(/^settings\.url: /)
})

test('changes can be switched off in cairn.yaml, and a key that it names is not replaced', async () => {
  const off = (await open({ text: 'editing: {enabled: false}' })).start()
  for (const change of [
    publish(off, ANN),
    off.settings.setProviderKey(ANN, 'demo', 'x'),
    off.settings.chooseDefaultModel(ANN, 'demo/scripted'),
    off.settings.setMcpServerSecrets(ANN, 'm', {}),
    off.settings.remove(ANN, 'agent', 'assistant', 0),
    off.settings.restore(ANN, 'agent', 'assistant', { version: 1, base_version: 0 }),
  ])
    expect((await refused(change)).message).toBe('Changes are off: editing.enabled is false in cairn.yaml.')
  expect((await off.settings.list(ANN, 'agent')).editing).toBe(false)

  const named = await open({ text: 'models: {providers: {o: {kind: openai, api_key_env: THE_KEY}}}' })
  const refusal = await refused(named.start().settings.setProviderKey(ANN, 'o', 'x'))
  expect(refusal.message).toMatch(/comes from the environment variable THE_KEY/)
})
