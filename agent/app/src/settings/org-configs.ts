/**
 * The configuration of each organisation in this process: cairn.yaml with the settings of its administrators.
 * It is read again when the store has a newer change, so all processes of a database follow without a
 * restart.
 */
import type { SettingRow, SettingStore } from '@cairn/log'
import { asError, type Config } from '@cairn/protocol'
import type { Sealing } from '@cairn/sessions'
import { type EffectiveConfig, withModels } from '../config/effective-config.ts'
import { type Edits, mergeEdits, readEdits } from '../config/merge-edits.ts'
import type { ConfigSource } from '../config/parse-config.ts'
import type { Logger } from '../serve/logging.ts'

/** Kinds of settings whose content is a secret. */
export type SecretKind = 'provider_key' | 'mcp_secret'

export type OrgConfig = EffectiveConfig & {
  org_id: string
  /** Position of the latest change. */
  seq: number
  edits: Edits
  /** The latest version of everything, by kind and name. */
  heads: ReadonlyMap<string, SettingRow>
  /** Settings that no longer fit the schema. */
  unreadable: readonly SettingRow[]
  /** Decrypted secrets by kind and name, without those of another address or key. */
  secrets: ReadonlyMap<string, string>
}

export const headKey = (kind: string, name: string): string => `${kind} ${name}`
/**
 * Authenticated with a secret: it cannot be moved to another setting or organisation, and it can be used only
 * where it was meant to be sent. A changed address needs the secret again.
 */
export const aboutSecret = (orgId: string, kind: SecretKind, name: string, goal: string): string =>
  `setting ${orgId} ${kind} ${name} for ${goal}`

/** Where a secret is sent; null: nothing uses it. */
export function goalOf({ models, mcp_servers }: Config, kind: SecretKind, name: string): string | null {
  if (kind === 'provider_key') {
    const provider = models.providers[name]
    return provider === undefined || provider.kind === 'scripted' ? null : new URL(provider.base_url).origin
  }
  const server = mcp_servers[name.slice(0, name.indexOf('/'))]
  if (server === undefined) return null
  return 'url' in server ? new URL(server.url).origin : JSON.stringify([server.command, server.args])
}
/** Name of a secret of an MCP server. */
export const mcpSecretName = (server: string, field: string): string => `${server}/${field}`

export type OrgConfigsOptions = {
  /** cairn.yaml as given, before defaults of models. */
  file: Config
  source: ConfigSource
  settings: SettingStore
  sealing: Sealing
  learnSecrets: (secrets: readonly string[]) => void
  log: Logger
}
export type OrgConfigs = {
  of(orgId: string): Promise<OrgConfig>
  /** Reads what changed in the organisations that were asked for. */
  refresh(): Promise<void>
  file: Config
  source: ConfigSource
}

export function createOrgConfigs(options: OrgConfigsOptions): OrgConfigs {
  const { file, source, settings } = options
  const known = new Map<string, OrgConfig>()
  async function of(orgId: string): Promise<OrgConfig> {
    const seq = await settings.seq(orgId)
    const cached = known.get(orgId)
    if (cached?.seq === seq) return cached
    const read = await readOrg(options, orgId)
    known.set(orgId, read)
    return read
  }
  return {
    file,
    source,
    of,
    async refresh() {
      for (const orgId of known.keys()) await of(orgId)
    },
  }
}

async function readOrg(
  { file, settings, sealing, learnSecrets, log }: OrgConfigsOptions,
  org_id: string,
): Promise<OrgConfig> {
  const rows = await settings.heads(org_id)
  const { edits, unreadable } = readEdits(rows)
  for (const { kind, name, version } of unreadable)
    log.error('a setting does not fit this version of Cairn and is left out', { org_id, kind, name, version })
  const { config, demo } = withModels(mergeEdits(file, edits))
  const secrets = new Map<string, string>()
  for (const { kind, name, sealed } of rows) {
    if (sealed === null || (kind !== 'provider_key' && kind !== 'mcp_secret')) continue
    try {
      const goal = goalOf(config, kind, name)
      const opened = goal === null ? null : sealing.open(aboutSecret(org_id, kind, name, goal), sealed)
      if (opened !== null) secrets.set(headKey(kind, name), opened)
      else if (goal !== null)
        log.warn('a stored secret is not for this address: set it again', { kind, name })
    } catch (error) {
      log.error('a stored secret cannot be decrypted', { kind, name, error: asError(error).message })
    }
  }
  learnSecrets([...secrets.values()])
  return {
    config,
    demo,
    org_id,
    seq: rows.reduce((most, { seq }) => Math.max(most, seq), 0),
    edits,
    heads: new Map(rows.map(row => [headKey(row.kind, row.name), row])),
    unreadable,
    secrets,
  }
}

/** The stored keys by provider. */
export const providerKeys = ({ config, secrets }: OrgConfig): Record<string, string> =>
  Object.fromEntries(
    Object.keys(config.models.providers).flatMap(name => {
      const key = secrets.get(headKey('provider_key', name))
      return key === undefined ? [] : [[name, key]]
    }),
  )

/** The stored secrets of an MCP server, by header or variable. */
export function mcpSecrets({ secrets }: OrgConfig, server: string): Record<string, string> {
  const prefix = headKey('mcp_secret', mcpSecretName(server, ''))
  return Object.fromEntries(
    [...secrets].flatMap(([key, value]) =>
      key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [],
    ),
  )
}
