/** Stores changes of settings: a version that follows the one that was edited, or a secret. */
import type { EditedKind, SettingPerson } from '@cairn/api'
import type { NewSetting, SettingKey } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { aboutSecret, goalOf, type SecretKind } from './org-configs.ts'
import { type SettingsOptions, viewDeps } from './settings-options.ts'
import { versionOf } from './views.ts'

/** Throws `version_conflict` with what was published in the meantime. */
export async function add(
  options: SettingsOptions,
  person: SettingPerson,
  kind: EditedKind,
  name: string,
  base: number,
  setting: Pick<NewSetting, 'change' | 'content' | 'note' | 'restored_from'>,
): Promise<void> {
  const { settings } = options.store
  const key = { org_id: person.org_id, kind, name }
  const added = await settings.add(key, base, { ...setting, sealed: null, changed_by: person.id })
  if (added !== null) return
  const [latest] = await settings.versions(key, 1)
  if (latest === undefined)
    throw new AppError('version_conflict', `${name} has no version ${base}: it was never changed here.`)
  const { names } = await viewDeps(options, person)
  const current = versionOf(latest, names, person.admin)
  const verb = current.change === 'remove' ? 'removed' : 'changed'
  throw new AppError(
    'version_conflict',
    `${current.changed_by} ${verb} ${name} in the meantime: version ${current.version} is newer than version ` +
      `${base}, which you edited. Compare both, then publish again.`,
    { extra: { current } },
  )
}

const MAX_ATTEMPTS = 10

/** For what two people cannot edit at odds: the last change wins. */
export async function addLatest(
  { store: { settings } }: SettingsOptions,
  { org_id, id }: SettingPerson,
  { kind, name }: Pick<SettingKey, 'kind' | 'name'>,
  change: Pick<NewSetting, 'change' | 'content' | 'sealed'>,
): Promise<number> {
  const key = { org_id, kind, name }
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const base = (await settings.versions(key, 1))[0]?.version ?? 0
    const added = await settings.add(key, base, {
      ...change,
      note: null,
      restored_from: null,
      changed_by: id,
    })
    if (added !== null) return added
  }
  throw new AppError('version_conflict', `${name} is being changed by others: try again.`)
}

/** Null removes the secret. Replaced and removed secrets are erased from the store. */
export async function setSecret(
  options: SettingsOptions,
  person: SettingPerson,
  kind: SecretKind,
  name: string,
  value: string | null,
): Promise<void> {
  const { sealing, store, orgs } = options
  const { org_id } = person
  const goal = goalOf((await orgs.of(org_id)).config, kind, name)
  if (goal === null) throw new Error(`[settings] nothing uses the secret ${kind} ${name}`)
  const sealed = value === null ? null : sealing.seal(aboutSecret(org_id, kind, name, goal), value)
  const change = value === null ? 'remove_secret' : 'set_secret'
  const version = await addLatest(options, person, { kind, name }, { change, content: null, sealed })
  await store.settings.forgetSecrets({ org_id, kind, name }, version)
  // The redactor knows the secret before the answer is sent.
  await orgs.of(org_id)
}
