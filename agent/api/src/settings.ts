/** Settings of an organisation, as the API needs them; the app injects them. */
import type { AnswerOf, Config, SettingKind } from '@cairn/protocol'

/** The user who makes a request. */
export type SettingPerson = { org_id: string; id: string; admin: boolean }
export type EditedKind = Exclude<SettingKind, 'default_model'>
export type SettingView = AnswerOf<'listAgents'>['items'][number]
export type SettingDetail = AnswerOf<'getAgent'>

export type OrgSettings = { config: Config; demo: boolean }

export type Settings = {
  /** The configuration of the organisation: cairn.yaml and what its administrators changed. */
  of(orgId: string): Promise<OrgSettings>
  /** The skills that a message may call. */
  skills(orgId: string): Promise<AnswerOf<'about'>['skills']>
  list(person: SettingPerson, kind: EditedKind): Promise<AnswerOf<'listAgents'>>
  /** Throws `not_found`; so do the following. */
  get(person: SettingPerson, kind: EditedKind, name: string): Promise<SettingDetail>
  versions(person: SettingPerson, kind: EditedKind, name: string): Promise<AnswerOf<'agentVersions'>>
  /** Throws `version_conflict`, `invalid_body`, or `wrong_state` if cairn.yaml forbids changes. */
  publish(
    person: SettingPerson,
    kind: EditedKind,
    name: string,
    change: { settings: Record<string, unknown>; base_version: number; note?: string | undefined },
  ): Promise<SettingDetail>
  restore(
    person: SettingPerson,
    kind: EditedKind,
    name: string,
    change: { version: number; base_version: number; note?: string | undefined },
  ): Promise<SettingDetail>
  remove(person: SettingPerson, kind: EditedKind, name: string, base_version: number): Promise<void>
  /** Null removes the key. */
  setProviderKey(person: SettingPerson, provider: string, key: string | null): Promise<void>
  setMcpServerSecrets(
    person: SettingPerson,
    server: string,
    secrets: Readonly<Record<string, string | null>>,
  ): Promise<void>
  chooseDefaultModel(person: SettingPerson, model: string): Promise<void>
  testProvider(
    person: SettingPerson,
    provider: string,
    model: string | undefined,
  ): Promise<AnswerOf<'testProvider'>>
  testMcpServer(person: SettingPerson, server: string): Promise<AnswerOf<'testMcpServer'>>
  changes(person: SettingPerson, before: number | undefined): Promise<AnswerOf<'listChanges'>>
}

/** The configuration of an organisation; without settings, that of the file. */
export const configOf = async (
  { settings, config, demo }: OrgSettings & { settings?: Settings },
  { org_id }: { org_id: string },
): Promise<OrgSettings> => (settings === undefined ? { config, demo } : settings.of(org_id))
