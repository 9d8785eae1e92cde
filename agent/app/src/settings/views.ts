/** Settings as the API shows them: what is in effect, where each part comes from, and what is wrong. Pure. */
import type { EditedKind, SettingView } from '@cairn/api'
import type { SettingRow } from '@cairn/log'
import type { AnswerOf, Config } from '@cairn/protocol'
import { Document } from 'yaml'
import type { Problem } from '../config/check-patterns.ts'
import { modelsOf, providerOf } from '../config/effective-config.ts'
import { problemsOfEdits, SETTING_PATHS } from '../config/merge-edits.ts'
import type { ConfigSource } from '../config/parse-config.ts'
import { maskConfig, maskUrl } from '../config/show-config.ts'
import { headKey, mcpSecretName, type OrgConfig, type OrgConfigs } from './org-configs.ts'

type Values = Record<string, unknown>
type Env = Readonly<Record<string, string | undefined>>
/** Name of a user by id. */
export type Names = ReadonlyMap<string, string>

export type ViewDeps = Pick<OrgConfigs, 'file' | 'source'> & {
  env: Env
  names: Names
  /** Skills of the directory. */
  fileSkills: ReadonlyMap<string, { description: string; body: string }>
}

const iso = (at: number): string => new Date(at).toISOString()

/** Everything that cairn.yaml, or the directory of skills, defines of this kind. */
function fileEntries({ file, fileSkills }: ViewDeps, kind: EditedKind): ReadonlyMap<string, unknown> {
  switch (kind) {
    case 'agent':
      return new Map(Object.entries(file.agents))
    case 'expert':
      return new Map(Object.entries(file.experts))
    case 'provider':
      return new Map(Object.entries(file.models.providers))
    case 'mcp_server':
      return new Map(Object.entries(file.mcp_servers))
    case 'skill':
      return fileSkills
  }
}

/** The names of everything of this kind, in their order on the page. */
export function namesOf(deps: ViewDeps, org: OrgConfig, kind: EditedKind): string[] {
  const builtIn =
    kind === 'agent'
      ? Object.keys(org.config.agents)
      : kind === 'provider'
        ? Object.keys(org.config.models.providers)
        : []
  return [...new Set([...fileEntries(deps, kind).keys(), ...builtIn, ...org.edits[kind].keys()])].toSorted()
}

/** Null: nothing has this name. A removed setting has only versions. */
export function viewOf(deps: ViewDeps, org: OrgConfig, kind: EditedKind, name: string): SettingView | null {
  const inFile = fileEntries(deps, kind).has(name)
  const edited = org.edits[kind].get(name)
  const settings = effective(deps, org, kind, name)
  const head = org.heads.get(headKey(kind, name))
  if (settings === null && head === undefined) return null
  const line = /^line (\d+)/.exec(inFile ? deps.source.lineOf([...SETTING_PATHS[kind], name]) : '')?.[1]
  return {
    name,
    origin: inFile ? 'file' : edited === undefined ? 'default' : 'editor',
    file_line: kind === 'skill' || line === undefined ? null : Number(line),
    overridden: inFile && edited !== undefined,
    editable: deps.file.editing.enabled,
    version: head?.version ?? 0,
    changed_at: head === undefined ? null : iso(head.changed_at),
    changed_by: head === undefined ? null : nameIn(deps.names, head.changed_by),
    settings: settings ?? {},
    problems: problemsAt(deps, org, kind, name),
    secrets: secretsOf(deps, org, kind, name),
    used_by: usersOf(org.config, kind, name),
  }
}

export const nameIn = (names: Names, id: string): string => names.get(id) ?? 'a removed user'

/** The settings in effect with their defaults, and without secrets; null: it is not in effect. */
function effective(deps: ViewDeps, org: OrgConfig, kind: EditedKind, name: string): Values | null {
  const masked = maskConfig(org.config)
  const inFile = fileEntries(deps, kind).has(name)
  switch (kind) {
    case 'agent':
      return (masked.agents[name] as Values | undefined) ?? null
    case 'expert':
      return (masked.experts[name] as Values | undefined) ?? null
    case 'provider':
      return inFile || !org.edits.provider.has(name)
        ? ((masked.models.providers[name] as Values | undefined) ?? null)
        : maskGiven({ ...org.edits.provider.get(name)?.settings })
    case 'mcp_server':
      return inFile || !org.edits.mcp_server.has(name)
        ? ((masked.mcp_servers[name] as Values | undefined) ?? null)
        : maskGiven({ ...org.edits.mcp_server.get(name)?.settings })
    case 'skill': {
      const skill = deps.fileSkills.get(name)
      if (skill !== undefined) return { description: skill.description, instructions: skill.body }
      const edited = org.edits.skill.get(name)?.settings
      return edited === undefined ? null : { ...edited }
    }
  }
}

/** Addresses may contain credentials, which only administrators see, to edit them. */
export function maskGiven(values: Values): Values {
  const masked = { ...values }
  for (const key of ['url', 'base_url'])
    if (typeof masked[key] === 'string') masked[key] = maskUrl(masked[key])
  return masked
}

function problemsAt(deps: ViewDeps, org: OrgConfig, kind: EditedKind, name: string): SettingView['problems'] {
  const head = org.unreadable.find(row => row.kind === kind && row.name === name)
  const unreadable =
    head === undefined
      ? []
      : [
          {
            path: '',
            message: `version ${head.version} does not fit this version of Cairn: publish it again`,
          },
        ]
  const found = problemsOfEdits(deps.file, org.edits, deps.source)
  return [...unreadable, ...problemsIn(found, kind, name)]
}

/** The problems of one setting, with paths within it. */
export function problemsIn(
  problems: readonly Problem[],
  kind: EditedKind,
  name: string,
): SettingView['problems'] {
  const at = [...SETTING_PATHS[kind], name]
  return problems
    .filter(({ path }) => at.every((key, index) => path[index] === key))
    .map(({ path, message }) => ({ path: path.slice(at.length).join('.'), message }))
}

/** The secrets of a provider or server, each set, in the environment or missing. */
function secretsOf(
  { env, names, file }: ViewDeps,
  org: OrgConfig,
  kind: EditedKind,
  name: string,
): SettingView['secrets'] {
  const stateOf = (
    field: string,
    secretKind: 'provider_key' | 'mcp_secret',
    secretName: string,
    variable: string | undefined,
  ): SettingView['secrets'][number] => {
    const key = headKey(secretKind, secretName)
    const head = org.heads.get(key)
    const isStored = head !== undefined && head.sealed !== null
    const state =
      variable !== undefined
        ? env[variable]
          ? 'environment'
          : 'missing'
        : org.secrets.has(key)
          ? 'set'
          : isStored
            ? 'unreadable'
            : 'missing'
    return {
      name: field,
      state,
      changed_at: isStored ? iso(head.changed_at) : null,
      changed_by: isStored ? nameIn(names, head.changed_by) : null,
    }
  }
  if (kind === 'provider') {
    const provider = org.config.models.providers[name]
    if (provider === undefined || provider.kind === 'scripted') return []
    return [stateOf('key', 'provider_key', name, provider.api_key_env)]
  }
  if (kind !== 'mcp_server') return []
  const inFile = file.mcp_servers[name]
  if (inFile !== undefined) {
    const named =
      'url' in inFile ? inFile.headers_env : Object.fromEntries(inFile.env.map(each => [each, each]))
    return Object.entries(named).map(([field, variable]) => stateOf(field, 'mcp_secret', '', variable))
  }
  const edited = org.edits.mcp_server.get(name)?.settings
  if (edited === undefined) return []
  return ('url' in edited ? edited.headers : edited.env).map(field =>
    stateOf(field, 'mcp_secret', mcpSecretName(name, field), undefined),
  )
}

/** The agents and experts that use a provider or an expert. */
function usersOf(config: Config, kind: EditedKind, name: string): string[] {
  if (kind === 'expert')
    return Object.entries(config.agents).flatMap(([agent, { experts }]) =>
      experts.includes(name) ? [agent] : [],
    )
  if (kind !== 'provider') return []
  const users = [...modelsOf(config)].flatMap(([[section, user], model]) =>
    section === 'agents' && user !== undefined && model !== undefined && providerOf(model) === name
      ? [user]
      : [],
  )
  return [...new Set(users)]
}

/** Where each key of the settings in effect comes from. */
export function originsOf(
  { source }: { source: ConfigSource },
  org: OrgConfig,
  kind: EditedKind,
  { name, origin, settings }: SettingView,
): Record<string, 'file' | 'editor' | 'default'> {
  const given: Readonly<Values> = org.edits[kind].get(name)?.given ?? {}
  return Object.fromEntries(
    Object.keys(settings).map(key => {
      if (origin === 'editor') return [key, given[key] === undefined ? 'default' : 'editor']
      const isInFile =
        origin === 'file' && (kind === 'skill' || source.isGiven([...SETTING_PATHS[kind], name, key]))
      return [key, isInFile ? 'file' : 'default']
    }),
  )
}

/** What cairn.yaml sets and the editor could set; null: cairn.yaml does not define it. */
export function inFile(
  { source }: { source: ConfigSource },
  kind: EditedKind,
  { name, origin, settings }: SettingView,
): Values | null {
  if (origin !== 'file') return null
  if (kind === 'skill') return settings
  const given = givenAt(source, [...SETTING_PATHS[kind], name], settings) as Values
  if (kind === 'provider') return pick(given, ['kind', 'base_url'])
  if (kind !== 'mcp_server') return given
  const shared = ['read_only', 'pin', 'max_answer_mb']
  if (given['command'] !== undefined)
    return pick(given, ['command', 'args', 'env', 'network', 'egress', ...shared])
  const headers = Object.keys((given['headers_env'] ?? {}) as Values)
  return { ...pick(given, ['url', ...shared]), ...(headers.length === 0 ? {} : { headers }) }
}

const pick = (values: Values, keys: readonly string[]): Values =>
  Object.fromEntries(keys.flatMap(key => (values[key] === undefined ? [] : [[key, values[key]]])))

/** The value without the defaults that the schema added to its maps. */
function givenAt(source: ConfigSource, path: readonly string[], value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => source.isGiven([...path, key]))
      .map(([key, inner]) => [key, givenAt(source, [...path, key], inner)]),
  )
}

/** The setting as a section of cairn.yaml; skills are files of their own. */
export function yamlOf(kind: EditedKind, name: string, given: Values): string {
  if (kind === 'skill') {
    const { description = '', instructions = '' } = given
    const head = `name: ${name}\ndescription: ${JSON.stringify(description)}`
    return `---\n${head}\n---\n${String(instructions)}\n`
  }
  const nested = SETTING_PATHS[kind].toReversed().reduce<unknown>((inner, key) => ({ [key]: inner }), {
    [name]: given,
  })
  return new Document(nested).toString({ lineWidth: 0 })
}

/** A version as the API shows it, of rows that publish, restore or remove. */
export const versionOf = (
  { version, change, note, restored_from, changed_at, changed_by, content }: SettingRow,
  names: Names,
  isAdmin: boolean,
): Omit<AnswerOf<'agentVersions'>['versions'][number], 'sessions'> => {
  const settings = content === null ? null : (JSON.parse(content) as Values)
  return {
    version,
    change: change === 'restore' || change === 'remove' ? change : 'publish',
    note,
    restored_from,
    changed_at: iso(changed_at),
    changed_by: nameIn(names, changed_by),
    settings: settings === null || isAdmin ? settings : maskGiven(settings),
  }
}
