/** The queries of settings. All kinds have the same routes and answers. */
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import type { AnswerOf } from '@cairn/protocol'
import { client } from '../api.ts'

export type Setting = AnswerOf<'listAgents'>['items'][number]
export type SettingDetail = AnswerOf<'getAgent'>
export type SettingVersion = AnswerOf<'agentVersions'>['versions'][number]
export type Settings = Readonly<Record<string, unknown>>

export const ROUTES = {
  agent: {
    list: 'listAgents',
    get: 'getAgent',
    versions: 'agentVersions',
    publish: 'publishAgent',
    restore: 'restoreAgent',
    remove: 'removeAgent',
  },
  expert: {
    list: 'listExperts',
    get: 'getExpert',
    versions: 'expertVersions',
    publish: 'publishExpert',
    restore: 'restoreExpert',
    remove: 'removeExpert',
  },
  provider: {
    list: 'listProviders',
    get: 'getProvider',
    versions: 'providerVersions',
    publish: 'publishProvider',
    restore: 'restoreProvider',
    remove: 'removeProvider',
  },
  mcp_server: {
    list: 'listMcpServers',
    get: 'getMcpServer',
    versions: 'mcpServerVersions',
    publish: 'publishMcpServer',
    restore: 'restoreMcpServer',
    remove: 'removeMcpServer',
  },
  skill: {
    list: 'listSkills',
    get: 'getSkill',
    versions: 'skillVersions',
    publish: 'publishSkill',
    restore: 'restoreSkill',
    remove: 'removeSkill',
  },
} as const
export type Kind = keyof typeof ROUTES

export const settingsQuery = (kind: Kind) =>
  queryOptions({
    queryKey: ['settings', kind],
    queryFn: ({ signal }) => client.call(ROUTES[kind].list, { signal }),
    refetchInterval: 15_000,
  })
/** The draft of an editor is based on this, so it is not read again by itself. */
export const settingQuery = (kind: Kind, name: string) =>
  queryOptions({
    queryKey: ['settings', kind, name],
    queryFn: ({ signal }) => client.call(ROUTES[kind].get, { params: { name }, signal }),
    staleTime: 0,
  })
export const versionsQuery = (kind: Kind, name: string) =>
  queryOptions({
    queryKey: ['settings', kind, name, 'versions'],
    queryFn: async ({ signal }) =>
      (await client.call(ROUTES[kind].versions, { params: { name }, signal })).versions,
    staleTime: 0,
  })

/** After a change: lists, details, the audit trail, and the models and agents that sessions may choose. */
export const refreshSettings = (queries: QueryClient): Promise<unknown> =>
  Promise.all([
    queries.invalidateQueries({ queryKey: ['settings'] }),
    queries.invalidateQueries({ queryKey: ['about'] }),
  ])
