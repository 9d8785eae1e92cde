/**
 * Settings of administrators: read, publish as a new version, restore, remove; secrets that are written and
 * never read; tests of providers and MCP servers. The rows of the store are the audit trail.
 */
import type { EditedKind, SettingDetail, SettingPerson, Settings, SettingView } from '@cairn/api'
import { AppError } from '@cairn/protocol'
import { mcpServerConfig } from '../config/merge-edits.ts'
import { check, refuseRemovalInUse } from './check-setting.ts'
import { mcpSecretName, mcpSecrets, type OrgConfig } from './org-configs.ts'
import { skillsOf } from './session-scopes.ts'
import {
  existing,
  invalid,
  mustBeEditable,
  type SettingsOptions,
  unknown,
  viewDeps,
} from './settings-options.ts'
import { add, addLatest, setSecret } from './store-setting.ts'
import { testMcpServer } from './test-mcp-server.ts'
import { testProvider } from './test-provider.ts'
import {
  inFile,
  maskGiven,
  nameIn,
  namesOf,
  originsOf,
  type ViewDeps,
  versionOf,
  viewOf,
  yamlOf,
} from './views.ts'

const MAX_VERSIONS = 200
const CHANGES_PAGE = 100

export const createSettings = (options: SettingsOptions): Settings => ({
  ...reads(options),
  ...versions(options),
  ...secrets(options),
  ...tests(options),
})

/** What is in effect, its versions, and the audit trail. */
function reads(
  options: SettingsOptions,
): Pick<Settings, 'of' | 'skills' | 'list' | 'get' | 'versions' | 'changes'> {
  const { orgs, store } = options
  return {
    of: orgId => orgs.of(orgId),
    async skills(orgId) {
      const [org, inFiles] = [await orgs.of(orgId), await options.fileSkills()]
      return [...skillsOf(org).values()]
        .filter(({ name }) => !inFiles.has(name))
        .map(({ name, description }) => ({ name, description }))
    },
    async list(person, kind) {
      const org = await orgs.of(person.org_id)
      const deps = await viewDeps(options, person)
      return {
        items: namesOf(deps, org, kind).flatMap(name => viewOf(deps, org, kind, name) ?? []),
        editing: orgs.file.editing.enabled,
        default_model: org.config.models.default ?? null,
      }
    },
    get: (person, kind, name) => detail(options, person, kind, name),
    async versions(person, kind, name) {
      const key = { org_id: person.org_id, kind, name }
      const rows = await store.settings.versions(key, MAX_VERSIONS)
      const { names } = await viewDeps(options, person)
      const counted =
        kind === 'agent' ? new Map(await sessionsByVersion(options, person.org_id, name)) : undefined
      return {
        versions: rows.map(row => ({
          ...versionOf(row, names, person.admin),
          sessions: counted === undefined ? null : (counted.get(row.version) ?? 0),
        })),
      }
    },
    async changes(person, before = Number.MAX_SAFE_INTEGER) {
      const rows = await store.settings.changes(person.org_id, before, CHANGES_PAGE)
      const { names } = await viewDeps(options, person)
      return {
        changes: rows.map(
          ({ seq, kind, name, version, change, note, restored_from, changed_at, changed_by }) => ({
            id: seq,
            changed_at: new Date(changed_at).toISOString(),
            changed_by: nameIn(names, changed_by),
            kind,
            name,
            version,
            change: CHANGES.find(known => known === change) ?? 'publish',
            note,
            restored_from,
          }),
        ),
        next_before: rows.length < CHANGES_PAGE ? null : (rows.at(-1)?.seq ?? null),
      }
    },
  }
}

/** Changes of settings, each a new version. */
function versions(options: SettingsOptions): Pick<Settings, 'publish' | 'restore' | 'remove'> {
  const { orgs, store } = options
  return {
    async publish(person, kind, name, { settings, base_version, note }) {
      mustBeEditable(orgs)
      await check(options, person, kind, name, settings)
      await add(options, person, kind, name, base_version, {
        change: 'publish',
        content: JSON.stringify(settings),
        note: note === undefined || note === '' ? null : note,
        restored_from: null,
      })
      return detail(options, person, kind, name)
    },
    async restore(person, kind, name, { version, base_version, note }) {
      mustBeEditable(orgs)
      const row = await store.settings.version({ org_id: person.org_id, kind, name }, version)
      if (row === null) throw new AppError('not_found', `${name} has no version ${version}.`)
      if (row.content === null)
        throw new AppError(
          'wrong_target',
          `Version ${version} of ${name} is its removal: choose another one.`,
        )
      await check(options, person, kind, name, JSON.parse(row.content))
      await add(options, person, kind, name, base_version, {
        change: 'restore',
        content: row.content,
        note: note === undefined || note === '' ? null : note,
        restored_from: version,
      })
      return detail(options, person, kind, name)
    },
    async remove(person, kind, name, base_version) {
      mustBeEditable(orgs)
      const org = await orgs.of(person.org_id)
      if (!org.edits[kind].has(name)) throw unknown(kind, name)
      refuseRemovalInUse(options, org, kind, name)
      await add(options, person, kind, name, base_version, {
        change: 'remove',
        content: null,
        note: null,
        restored_from: null,
      })
    },
  }
}

/** What has no text to compare: the last change wins. */
function secrets(
  options: SettingsOptions,
): Pick<Settings, 'setProviderKey' | 'setMcpServerSecrets' | 'chooseDefaultModel'> {
  const { orgs } = options
  return {
    async setProviderKey(person, provider, key) {
      mustBeEditable(orgs)
      const { config } = await orgs.of(person.org_id)
      const found = config.models.providers[provider]
      if (found === undefined || found.kind === 'scripted') throw unknown('provider', provider)
      if (found.api_key_env !== undefined)
        throw new AppError(
          'wrong_state',
          `The key of ${provider} comes from the environment variable ${found.api_key_env}, which cairn.yaml ` +
            'names: change it there.',
        )
      await setSecret(options, person, 'provider_key', provider, key)
    },
    async setMcpServerSecrets(person, server, secrets) {
      mustBeEditable(orgs)
      const org = await orgs.of(person.org_id)
      const edited = org.edits.mcp_server.get(server)?.settings
      if (Object.hasOwn(orgs.file.mcp_servers, server))
        throw new AppError(
          'wrong_state',
          `The MCP server ${server} is defined in cairn.yaml: change it there.`,
        )
      if (edited === undefined) throw unknown('mcp_server', server)
      const fields = 'url' in edited ? edited.headers : edited.env
      const errors = Object.keys(secrets)
        .filter(field => !fields.includes(field))
        .map(field => ({
          path: `secrets.${field}`,
          message: `is not a header or variable of ${server} (it has ${fields.join(', ') || 'none'})`,
        }))
      if (errors.length > 0) throw invalid(errors)
      for (const [field, value] of Object.entries(secrets))
        await setSecret(options, person, 'mcp_secret', mcpSecretName(server, field), value)
    },
    async chooseDefaultModel(person, model) {
      mustBeEditable(orgs)
      const { file } = orgs
      if (file.models.default !== undefined)
        throw new AppError('wrong_state', 'cairn.yaml sets models.default: change it there.')
      const settings = { model }
      await check(options, person, 'default_model', 'default', settings)
      const change = { content: JSON.stringify(settings), sealed: null, change: 'publish' }
      await addLatest(options, person, { kind: 'default_model', name: 'default' }, change)
    },
  }
}

/** Tests of connections, as a session would open them. */
function tests(options: SettingsOptions): Pick<Settings, 'testProvider' | 'testMcpServer'> {
  const { orgs } = options
  return {
    async testProvider(person, provider, model) {
      const org = await orgs.of(person.org_id)
      if (!Object.hasOwn(org.config.models.providers, provider)) throw unknown('provider', provider)
      return testProvider(options, org, provider, model)
    },
    async testMcpServer(person, server) {
      const org = await orgs.of(person.org_id)
      const inFile = orgs.file.mcp_servers[server]
      const edited = org.edits.mcp_server.get(server)?.settings
      if (inFile === undefined && edited === undefined) throw unknown('mcp_server', server)
      if (inFile !== undefined && 'url' in inFile && inFile.auth !== undefined)
        throw new AppError(
          'wrong_target',
          `${server} is used with an account of each person: log in under Linked accounts to test it.`,
        )
      const config = inFile ?? mcpServerConfig(edited!)
      const boxes = options.boxes()
      if (boxes === null && 'command' in config)
        throw new AppError(
          'wrong_target',
          `${server} is a command, and this process runs none: test it on a runner.`,
        )
      return testMcpServer(server, {
        config,
        env: inFile === undefined ? mcpSecrets(org, server) : options.env,
        boxes: (name, ...rest) =>
          boxes === null
            ? Promise.reject(new Error('this process has no sandbox'))
            : boxes(`test.${person.org_id}.${name}`, ...rest),
        fetch: inFile === undefined ? options.reach.fetch : undefined,
      })
    },
  }
}

const CHANGES = ['publish', 'restore', 'remove', 'set_secret', 'remove_secret'] as const

const detail = async (
  options: SettingsOptions,
  person: SettingPerson,
  kind: EditedKind,
  name: string,
): Promise<SettingDetail> => {
  const org = await options.orgs.of(person.org_id)
  const deps = await viewDeps(options, person)
  return detailOf(deps, org, kind, existing(viewOf(deps, org, kind, name), kind, name), person)
}

function detailOf(
  deps: ViewDeps,
  org: OrgConfig,
  kind: EditedKind,
  view: SettingView,
  { admin }: SettingPerson,
): SettingDetail {
  const edited = org.edits[kind].get(view.name)?.given
  const given = edited === undefined ? null : admin ? { ...edited } : maskGiven({ ...edited })
  const fields = originsOf(deps, org, kind, view)
  const in_file = inFile(deps, kind, view)
  return { ...view, given, in_file, fields, yaml: yamlOf(kind, view.name, in_file ?? given ?? {}) }
}

async function sessionsByVersion(
  { store }: SettingsOptions,
  orgId: string,
  agent: string,
): Promise<[number, number][]> {
  const counted = await store.settings.agentSessions(orgId, agent)
  return counted.map(({ version, sessions }) => [version, sessions])
}
