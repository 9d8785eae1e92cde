/** What administrators changed in the web UI of the running service, and what cairn.yaml overrides of it. */
import { createClient } from '@cairn/client'
import { findServer } from '../local/data-dir.ts'
import { hasLocalAdmin, localToken } from '../local/local-admin.ts'

type Edited = { kind: string; name: string; version: number; overridden: boolean }

const KINDS = [
  ['agent', 'listAgents'],
  ['expert', 'listExperts'],
  ['provider', 'listProviders'],
  ['MCP server', 'listMcpServers'],
  ['skill', 'listSkills'],
] as const

/** Null: no service runs on this data directory, so what it stores is not known. */
export async function editedHere(dataDir: string): Promise<Edited[] | null> {
  const server = findServer(dataDir)
  if (server === null || !hasLocalAdmin(dataDir)) return null
  const client = createClient({ baseUrl: server.url, token: () => localToken(dataDir) })
  const lists = await Promise.all(
    KINDS.map(async ([kind, route]) => {
      const { items } = await client.call(route, {})
      return items
        .filter(({ origin, overridden }) => origin === 'editor' || overridden)
        .map(({ name, version, overridden }) => ({ kind, name, version, overridden }))
    }),
  )
  return lists.flat()
}

/** One line for each setting, in the form of the other lines of `cairn config`. */
export function describeEdited(edited: readonly Edited[] | null): string[] {
  if (edited === null) return ['web UI      start the service to see what was changed there']
  return edited.map(
    ({ kind, name, version, overridden }) =>
      `web UI      ${kind} ${name}, version ${version}` +
      `${overridden ? ': overridden by this file' : ', not in this file'}`,
  )
}
