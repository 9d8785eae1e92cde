/**
 * Routes for agents, experts, providers, MCP servers and skills: everyone reads them, administrators change
 * them. A change is a new version; it states the version that it is based on. Secrets are written and never
 * read.
 */
import { z } from 'zod'
import type { Route } from './route.ts'

const timestamp = z.string()
const version = z.int().nonnegative()
const values = z.record(z.string(), z.unknown())
const note = z.string().trim().max(500).optional().describe('the reason for the change')

const SettingProblem = z.object({ path: z.string(), message: z.string() }).meta({ id: 'SettingProblem' })
const SettingSecret = z
  .object({
    name: z.string().describe('`key` of a provider; a header or variable of an MCP server'),
    state: z.enum(['set', 'environment', 'missing', 'unreadable']),
    changed_at: timestamp.nullable(),
    changed_by: z.string().nullable().describe('name of the user'),
  })
  .meta({ id: 'SettingSecret' })
const SettingView = z
  .object({
    name: z.string(),
    origin: z.enum(['file', 'editor', 'default']).describe('where the settings in effect come from'),
    file_line: z.int().nullable().describe('line of cairn.yaml'),
    overridden: z.boolean().describe('it was also edited here, and cairn.yaml wins'),
    editable: z.boolean(),
    version: version.describe('the latest version of the editor; 0: none'),
    changed_at: timestamp.nullable(),
    changed_by: z.string().nullable().describe('name of the user'),
    settings: values.describe('in effect, with defaults; secrets masked'),
    problems: z.array(SettingProblem),
    secrets: z.array(SettingSecret),
    used_by: z.array(z.string()).describe('names of the agents that use it'),
  })
  .meta({ id: 'Setting' })
const SettingDetail = SettingView.extend({
  given: values.nullable().describe('the keys that are set, as last edited; null: never edited here'),
  in_file: values.nullable().describe('the keys that cairn.yaml sets and that can be edited here'),
  fields: z
    .record(z.string(), z.enum(['file', 'editor', 'default']))
    .describe('where each key of the settings in effect comes from'),
  yaml: z.string().describe('as a section of cairn.yaml'),
}).meta({ id: 'SettingDetail' })
const SettingVersion = z
  .object({
    version,
    change: z.enum(['publish', 'restore', 'remove']),
    note: z.string().nullable(),
    restored_from: version.nullable(),
    changed_at: timestamp,
    changed_by: z.string().describe('name of the user'),
    settings: values.nullable().describe('as given; null: removed'),
    sessions: z.int().nullable().describe('sessions that began with this version of an agent'),
  })
  .meta({ id: 'SettingVersion' })
const SettingTest = z
  .object({
    ok: z.boolean(),
    ms: z.int(),
    detail: z.string().describe('the result in words'),
    advice: z.string().nullable().describe('how to fix a failure'),
  })
  .meta({ id: 'SettingTest' })

/** The routes of one kind of setting. */
const family = <const P extends string>(path: P, noun: string, plural: string) => ({
  list: {
    method: 'GET',
    path: `/${path}` as const,
    errors: ['not_found'],
    summary: `List the ${plural}, with the origin of each`,
    access: 'user',
    alias: false,
    status: 200,
    answer: z.object({
      items: z.array(SettingView),
      editing: z.boolean().describe('whether administrators may change them here'),
      default_model: z.string().nullable().describe('of agents that name no model'),
    }),
  } as const,
  get: {
    method: 'GET',
    path: `/${path}/{name}` as const,
    summary: `Get the ${noun} with the origin of each key`,
    access: 'user',
    alias: false,
    status: 200,
    answer: SettingDetail,
  } as const,
  versions: {
    method: 'GET',
    path: `/${path}/{name}/versions` as const,
    summary: `List the versions of the ${noun}, newest first`,
    access: 'user',
    alias: false,
    status: 200,
    answer: z.object({ versions: z.array(SettingVersion) }),
  } as const,
  publish: {
    method: 'POST',
    path: `/${path}/{name}/versions` as const,
    errors: ['version_conflict'],
    summary: `Publish a version of the ${noun}; new sessions use it`,
    access: 'admin',
    alias: false,
    body: z.strictObject({
      settings: values.describe('as in cairn.yaml, without secrets and names of variables'),
      base_version: version.describe('the version that was edited; 0: none'),
      note,
    }),
    status: 201,
    answer: SettingDetail,
  } as const,
  restore: {
    method: 'POST',
    path: `/${path}/{name}/restore` as const,
    errors: ['version_conflict', 'wrong_target'],
    summary: `Publish an earlier version of the ${noun} again`,
    access: 'admin',
    alias: false,
    body: z.strictObject({ version: version.min(1), base_version: version, note }),
    status: 201,
    answer: SettingDetail,
  } as const,
  remove: {
    method: 'DELETE',
    path: `/${path}/{name}` as const,
    errors: ['version_conflict'],
    summary: `Remove the ${noun}; its versions stay and can be restored`,
    access: 'admin',
    alias: false,
    query: z.object({
      base_version: z
        .string()
        .regex(/^\d{1,9}$/, 'must be a number')
        .transform(Number),
    }),
    status: 204,
  } as const,
})

const agents = family('agents', 'agent', 'agents')
const experts = family('experts', 'expert', 'experts')
const providers = family('providers', 'model provider', 'model providers')
const servers = family('mcp-servers', 'MCP server', 'MCP servers')
const skills = family('skills', 'skill', 'skills')
const admin = { access: 'admin', alias: false } as const

export const SETTING_ROUTES = {
  listAgents: agents.list,
  getAgent: agents.get,
  agentVersions: agents.versions,
  publishAgent: agents.publish,
  restoreAgent: agents.restore,
  removeAgent: agents.remove,
  listExperts: experts.list,
  getExpert: experts.get,
  expertVersions: experts.versions,
  publishExpert: experts.publish,
  restoreExpert: experts.restore,
  removeExpert: experts.remove,
  listProviders: providers.list,
  getProvider: providers.get,
  providerVersions: providers.versions,
  publishProvider: providers.publish,
  restoreProvider: providers.restore,
  removeProvider: providers.remove,
  listMcpServers: servers.list,
  getMcpServer: servers.get,
  mcpServerVersions: servers.versions,
  publishMcpServer: servers.publish,
  restoreMcpServer: servers.restore,
  removeMcpServer: servers.remove,
  listSkills: skills.list,
  getSkill: skills.get,
  skillVersions: skills.versions,
  publishSkill: skills.publish,
  restoreSkill: skills.restore,
  removeSkill: skills.remove,
  setProviderKey: {
    ...admin,
    method: 'POST',
    path: '/providers/{name}/key',
    errors: ['version_conflict'],
    summary: 'Set the key of a model provider; no route returns it',
    body: z.strictObject({ key: z.string().min(1).max(8192) }),
    status: 204,
  },
  removeProviderKey: {
    ...admin,
    method: 'DELETE',
    path: '/providers/{name}/key',
    errors: ['version_conflict'],
    summary: 'Remove the stored key of a model provider',
    status: 204,
  },
  testProvider: {
    ...admin,
    method: 'POST',
    path: '/providers/{name}/test',
    summary: 'Call a model of the provider once, and list its models',
    body: z.strictObject({ model: z.string().min(1).optional().describe('absent: list the models only') }),
    status: 200,
    answer: SettingTest.extend({
      models: z.array(z.string()).nullable().describe('null: the server gives no list'),
    }),
  },
  chooseDefaultModel: {
    ...admin,
    method: 'POST',
    path: '/default-model',
    errors: ['not_found', 'wrong_state', 'version_conflict'],
    summary: 'Choose the model of agents that name none',
    body: z.strictObject({ model: z.string().regex(/^[^/\s]+\/\S+$/, 'must be <provider>/<model>') }),
    status: 204,
  },
  setMcpServerSecrets: {
    ...admin,
    method: 'POST',
    path: '/mcp-servers/{name}/secrets',
    errors: ['version_conflict'],
    summary: 'Set headers or variables of an MCP server; no route returns them',
    body: z.strictObject({
      secrets: z
        .record(z.string().min(1).max(100), z.string().min(1).max(8192).nullable())
        .describe('values by name; null removes one'),
    }),
    status: 204,
  },
  testMcpServer: {
    ...admin,
    method: 'POST',
    path: '/mcp-servers/{name}/test',
    errors: ['wrong_target'],
    summary: 'Connect to the MCP server and list its tools',
    body: z.strictObject({}),
    status: 200,
    answer: SettingTest.extend({
      tools: z.array(z.object({ name: z.string(), description: z.string() })),
    }),
  },
  testSkill: {
    ...admin,
    method: 'POST',
    path: '/skills/{name}/test',
    errors: ['unknown_agent'],
    summary: 'Run a message with the skill and without it, in two new sessions',
    body: z.strictObject({ agent: z.string(), message: z.string().trim().min(1).max(20_000) }),
    status: 201,
    answer: z.object({ with_skill: z.string(), without_skill: z.string() }),
  },
  listChanges: {
    ...admin,
    method: 'GET',
    path: '/admin/changes',
    errors: ['not_found'],
    summary: 'List the changes of settings by administrators, newest first: the audit trail',
    query: z.object({
      before: z
        .string()
        .regex(/^\d{1,15}$/, 'must be a number')
        .transform(Number)
        .optional()
        .describe('next_before of the previous page'),
    }),
    status: 200,
    answer: z.object({
      changes: z.array(
        z
          .object({
            id: z.int(),
            changed_at: timestamp,
            changed_by: z.string().describe('name of the user'),
            kind: z.string(),
            name: z.string(),
            version,
            change: z.enum(['publish', 'restore', 'remove', 'set_secret', 'remove_secret']),
            note: z.string().nullable(),
            restored_from: version.nullable(),
          })
          .meta({ id: 'SettingChange' }),
      ),
      next_before: z.int().nullable(),
    }),
  },
} as const satisfies Record<string, Route>
