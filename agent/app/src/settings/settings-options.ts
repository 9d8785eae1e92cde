/** What the operations on settings share: their dependencies, and their errors. */
import type { EditedKind, SettingPerson, SettingView } from '@cairn/api'
import type { Skill, startMcpServers } from '@cairn/harness'
import type { LogStore } from '@cairn/log'
import { AppError, type SettingKind } from '@cairn/protocol'
import type { Sealing } from '@cairn/sessions'
import type { OrgConfigs } from './org-configs.ts'
import type { Reach } from './reach.ts'
import type { ViewDeps } from './views.ts'

export type SettingsOptions = {
  orgs: OrgConfigs
  store: Pick<LogStore, 'settings' | 'accounts'>
  sealing: Sealing
  reach: Reach
  env: Readonly<Record<string, string | undefined>>
  scriptedUrls: Readonly<Record<string, string>>
  /** The skills of the directory, read each time. */
  fileSkills: () => Promise<ReadonlyMap<string, Skill>>
  /** Null: this process has no sandbox for servers that are commands. */
  boxes: () => Parameters<typeof startMcpServers>[0]['boxes'] | null
}

const NOUNS: Record<SettingKind, string> = {
  agent: 'agent',
  expert: 'expert',
  provider: 'provider',
  mcp_server: 'MCP server',
  skill: 'skill',
  default_model: 'model',
}

export const unknown = (kind: SettingKind, name: string): AppError =>
  new AppError('not_found', `Unknown ${NOUNS[kind]} ${JSON.stringify(name.slice(0, 100))}.`)

export function existing(view: SettingView | null, kind: EditedKind, name: string): SettingView {
  if (view === null) throw unknown(kind, name)
  return view
}

export const invalid = (errors: { path: string; message: string }[]): AppError =>
  new AppError('invalid_body', errors.map(({ path, message }) => `${path}: ${message}`).join('; '), {
    extra: { errors },
  })

export function mustBeEditable({ file }: OrgConfigs): void {
  if (!file.editing.enabled)
    throw new AppError('wrong_state', 'Changes are off: editing.enabled is false in cairn.yaml.')
}

export async function viewDeps(
  { orgs, store, env, fileSkills }: SettingsOptions,
  { org_id }: SettingPerson,
): Promise<ViewDeps> {
  const users = await store.accounts.listUsers(org_id)
  return {
    file: orgs.file,
    source: orgs.source,
    env,
    names: new Map(users.map(({ id, name }) => [id, name])),
    fileSkills: await fileSkills(),
  }
}
