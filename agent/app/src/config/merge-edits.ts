/**
 * The configuration of an organisation: cairn.yaml and what its administrators edited. cairn.yaml wins by
 * name, for the whole agent, provider, server or expert; keys of the two are never mixed. Pure.
 */
import { narrowAgent } from '@cairn/harness'
import type { SettingRow } from '@cairn/log'
import {
  AgentConfig,
  type Config,
  EDITED,
  type EditedMcpServer,
  type EditedProvider,
  type EditedSkill,
  type ExpertConfig,
  type McpServerConfig,
  type ProviderConfig,
  type SettingKind,
} from '@cairn/protocol'
import type { z } from 'zod'
import type { Problem } from './check-patterns.ts'
import { problemsOf } from './effective-config.ts'
import type { ConfigSource } from './parse-config.ts'

type Values = Readonly<Record<string, unknown>>
type Edited<T> = { version: number; given: Values; settings: T }
export type Edits = ReturnType<typeof noEdits>

const noEdits = () => ({
  agent: new Map<string, Edited<AgentConfig>>(),
  expert: new Map<string, Edited<ExpertConfig>>(),
  provider: new Map<string, Edited<EditedProvider>>(),
  mcp_server: new Map<string, Edited<EditedMcpServer>>(),
  skill: new Map<string, Edited<EditedSkill>>(),
  default_model: new Map<string, Edited<{ model: string }>>(),
})

const isSettingKind = (kind: string): kind is SettingKind => Object.hasOwn(EDITED, kind)

/** Settings of the kind, or each mistake with its path within the settings. */
export function parseEdited<K extends SettingKind>(
  kind: K,
  name: string,
  given: unknown,
): { settings: z.output<(typeof EDITED)[K]['settings']> } | { problems: Problem[] } {
  const named = EDITED[kind].name.safeParse(name)
  const parsed = EDITED[kind].settings.safeParse(given)
  const problems = [
    ...(named.error?.issues ?? []).map(({ message }) => ({ path: ['name'], message })),
    ...(parsed.error?.issues ?? []).flatMap(issue => describeIssue(issue)),
  ]
  return parsed.success && problems.length === 0
    ? { settings: parsed.data as z.output<(typeof EDITED)[K]['settings']> }
    : { problems }
}

/** One problem for each unknown key; for a union, those of the alternative with the fewest. */
function describeIssue(issue: z.core.$ZodIssue): Problem[] {
  const path = issue.path.map(key => (typeof key === 'number' ? key : String(key)))
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(key => ({ path: [...path, key], message: 'unknown key' }))
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const [best = []] = issue.errors.toSorted((a, b) => a.length - b.length)
    return best.flatMap(inner =>
      describeIssue(inner).map(problem => ({ ...problem, path: [...path, ...problem.path] })),
    )
  }
  return [{ path, message: issue.message.replace(/^Invalid input: /, '') }]
}

/** The latest versions, parsed. One that no longer fits the schema is left out and reported. */
export function readEdits(heads: readonly SettingRow[]): { edits: Edits; unreadable: SettingRow[] } {
  const edits = noEdits()
  const unreadable: SettingRow[] = []
  for (const head of heads) {
    const { kind, name, version, content } = head
    if (!isSettingKind(kind) || content === null) continue
    const given = JSON.parse(content) as Values
    const parsed = parseEdited(kind, name, given)
    const known: Map<string, Edited<unknown>> = edits[kind]
    if ('settings' in parsed) known.set(name, { version, given, settings: parsed.settings })
    else unreadable.push(head)
  }
  return { edits, unreadable }
}

const values = <T, U>(map: ReadonlyMap<string, Edited<T>>, make: (settings: T, name: string) => U) =>
  Object.fromEntries([...map].map(([name, { settings }]) => [name, make(settings, name)]))

/** An agent of the editor, which the policy of cairn.yaml can only restrict. */
export const withinPolicy = (agent: AgentConfig, { editing }: Config): AgentConfig =>
  narrowAgent(agent, { tools: undefined, governance: editing.policy })

/** `file` is cairn.yaml as given, before defaults of models. */
export function mergeEdits(file: Config, edits: Edits): Config {
  const catalog = [...edits.provider]
    .filter(([name]) => !Object.hasOwn(file.models.providers, name))
    .flatMap(([name, { settings }]) =>
      Object.entries(settings.models).map(([model, rates]) => [`${name}/${model}`, rates] as const),
    )
  const chosen = file.models.default ?? edits.default_model.get('default')?.settings.model
  return {
    ...file,
    models: {
      ...(chosen === undefined ? {} : { default: chosen }),
      providers: { ...values(edits.provider, providerConfig), ...file.models.providers },
      catalog: { ...Object.fromEntries(catalog), ...file.models.catalog },
    },
    agents: { ...values(edits.agent, agent => withinPolicy(agent, file)), ...file.agents },
    experts: { ...values(edits.expert, expert => expert), ...file.experts },
    mcp_servers: { ...values(edits.mcp_server, mcpServerConfig), ...file.mcp_servers },
  }
}

const providerConfig = ({ kind, base_url }: EditedProvider): ProviderConfig =>
  kind === 'openai' ? { kind, base_url, headers: {} } : { kind, base_url }

/** The server as cairn.yaml would define it; its secrets are read from variables of these names. */
export const mcpServerConfig = (server: EditedMcpServer): McpServerConfig => {
  if ('url' in server) {
    const { headers, ...rest } = server
    return { ...rest, headers_env: Object.fromEntries(headers.map(header => [header, header])) }
  }
  return { ...server, sandbox: 'box', files: [] }
}

/** Where a setting is in the configuration. */
export const SETTING_PATHS: Record<SettingKind, readonly string[]> = {
  agent: ['agents'],
  expert: ['experts'],
  provider: ['models', 'providers'],
  mcp_server: ['mcp_servers'],
  skill: ['skills'],
  default_model: ['models'],
}
const SECTIONS = { agents: 'agent', experts: 'expert', mcp_servers: 'mcp_server' } as const

/** Whether the file, or the editor for what only it defines, has a value at the path. */
const isGivenIn =
  (file: Config, edits: Edits, source: ConfigSource): ConfigSource['isGiven'] =>
  path => {
    const [section, name, ...rest] = path.map(String)
    const isEdited = section !== undefined && Object.hasOwn(SECTIONS, section)
    if (!isEdited || name === undefined) return source.isGiven(path)
    const kind = SECTIONS[section as keyof typeof SECTIONS]
    if (Object.hasOwn(file[section as keyof typeof SECTIONS], name)) return source.isGiven(path)
    let at: unknown = edits[kind].get(name)?.given
    for (const key of rest) at = (at as Values | null | undefined)?.[key]
    return at !== undefined
  }

/** What is wrong with the configuration of an organisation. */
export function problemsOfEdits(file: Config, edits: Edits, source: ConfigSource): Problem[] {
  const { internal } = file.editing.policy.egress
  const closed = [...edits.agent].flatMap(([name, { settings }]) =>
    settings.governance.egress.internal
      .filter(host => !internal.includes(host))
      .map(host => ({
        path: ['agents', name, 'governance', 'egress', 'internal'],
        message: `"${host}" is not in editing.policy.egress.internal of cairn.yaml`,
      })),
  )
  const merged = mergeEdits(file, edits)
  return [...closed, ...problemsOf(merged, isGivenIn(file, edits, source))]
}
