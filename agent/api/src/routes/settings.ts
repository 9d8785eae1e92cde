/** Agents, experts, providers, MCP servers and skills, and the audit trail of their changes. */
import { AppError } from '@cairn/protocol'
import { addMessage, createSession } from '@cairn/sessions'
import type { Services } from '../deps.ts'
import type { Call, Handler } from '../handler.ts'
import type { EditedKind, Settings } from '../settings.ts'
import { agentNames } from './sessions.ts'

function settingsOf({ settings }: Services): Settings {
  if (settings === undefined)
    throw new AppError('not_found', 'This server has no settings: use a server that does.')
  return settings
}

/** The handlers of one kind; the routes of all kinds have the same shapes. */
const family = (kind: EditedKind) => ({
  list: ({ services, principal }: Pick<Call<'listAgents'>, 'services' | 'principal'>) =>
    settingsOf(services).list(principal, kind),
  get: ({ services, principal, params }: Pick<Call<'getAgent'>, 'services' | 'principal' | 'params'>) =>
    settingsOf(services).get(principal, kind, params.name),
  versions: ({
    services,
    principal,
    params,
  }: Pick<Call<'agentVersions'>, 'services' | 'principal' | 'params'>) =>
    settingsOf(services).versions(principal, kind, params.name),
  publish: ({
    services,
    principal,
    params,
    body,
  }: Pick<Call<'publishAgent'>, 'services' | 'principal' | 'params' | 'body'>) =>
    settingsOf(services).publish(principal, kind, params.name, body),
  restore: ({
    services,
    principal,
    params,
    body,
  }: Pick<Call<'restoreAgent'>, 'services' | 'principal' | 'params' | 'body'>) =>
    settingsOf(services).restore(principal, kind, params.name, body),
  remove: async ({
    services,
    principal,
    params,
    query,
  }: Pick<Call<'removeAgent'>, 'services' | 'principal' | 'params' | 'query'>) => {
    await settingsOf(services).remove(principal, kind, params.name, query.base_version)
    return undefined
  },
})

const agents = family('agent')
const experts = family('expert')
const providers = family('provider')
const servers = family('mcp_server')
const skills = family('skill')

export const listAgents: Handler<'listAgents'> = agents.list
export const getAgent: Handler<'getAgent'> = agents.get
export const agentVersions: Handler<'agentVersions'> = agents.versions
export const publishAgent: Handler<'publishAgent'> = agents.publish
export const restoreAgent: Handler<'restoreAgent'> = agents.restore
export const removeAgent: Handler<'removeAgent'> = agents.remove
export const listExperts: Handler<'listExperts'> = experts.list
export const getExpert: Handler<'getExpert'> = experts.get
export const expertVersions: Handler<'expertVersions'> = experts.versions
export const publishExpert: Handler<'publishExpert'> = experts.publish
export const restoreExpert: Handler<'restoreExpert'> = experts.restore
export const removeExpert: Handler<'removeExpert'> = experts.remove
export const listProviders: Handler<'listProviders'> = providers.list
export const getProvider: Handler<'getProvider'> = providers.get
export const providerVersions: Handler<'providerVersions'> = providers.versions
export const publishProvider: Handler<'publishProvider'> = providers.publish
export const restoreProvider: Handler<'restoreProvider'> = providers.restore
export const removeProvider: Handler<'removeProvider'> = providers.remove
export const listMcpServers: Handler<'listMcpServers'> = servers.list
export const getMcpServer: Handler<'getMcpServer'> = servers.get
export const mcpServerVersions: Handler<'mcpServerVersions'> = servers.versions
export const publishMcpServer: Handler<'publishMcpServer'> = servers.publish
export const restoreMcpServer: Handler<'restoreMcpServer'> = servers.restore
export const removeMcpServer: Handler<'removeMcpServer'> = servers.remove
export const listSkills: Handler<'listSkills'> = skills.list
export const getSkill: Handler<'getSkill'> = skills.get
export const skillVersions: Handler<'skillVersions'> = skills.versions
export const publishSkill: Handler<'publishSkill'> = skills.publish
export const restoreSkill: Handler<'restoreSkill'> = skills.restore
export const removeSkill: Handler<'removeSkill'> = skills.remove

export const setProviderKey: Handler<'setProviderKey'> = async ({ services, principal, params, body }) => {
  await settingsOf(services).setProviderKey(principal, params.name, body.key)
  return undefined
}

export const removeProviderKey: Handler<'removeProviderKey'> = async ({ services, principal, params }) => {
  await settingsOf(services).setProviderKey(principal, params.name, null)
  return undefined
}

export const testProvider: Handler<'testProvider'> = ({ services, principal, params, body }) =>
  settingsOf(services).testProvider(principal, params.name, body.model)

export const chooseDefaultModel: Handler<'chooseDefaultModel'> = async ({ services, principal, body }) => {
  await settingsOf(services).chooseDefaultModel(principal, body.model)
  return undefined
}

export const setMcpServerSecrets: Handler<'setMcpServerSecrets'> = async ({
  services,
  principal,
  params,
  body,
}) => {
  await settingsOf(services).setMcpServerSecrets(principal, params.name, body.secrets)
  return undefined
}

export const testMcpServer: Handler<'testMcpServer'> = ({ services, principal, params }) =>
  settingsOf(services).testMcpServer(principal, params.name)

export const testSkill: Handler<'testSkill'> = async ({ services, principal, params, body }) => {
  const { name } = await settingsOf(services).get(principal, 'skill', params.name)
  const agents = await agentNames(services, principal)
  const run = async (title: string, content: string): Promise<string> => {
    const { id } = await createSession(services, agents, { agent: body.agent, title, principal })
    await addMessage(services, { session_id: id, content, principal })
    return id
  }
  return {
    with_skill: await run(`Test of ${name}, with the skill`, `/${name} ${body.message}`),
    without_skill: await run(`Test of ${name}, without the skill`, body.message),
  }
}

export const listChanges: Handler<'listChanges'> = ({ services, principal, query }) =>
  settingsOf(services).changes(principal, query.before)
