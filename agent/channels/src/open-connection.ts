/** Prepares a connection from cairn.yaml, or from the web UI, for running. */
import type { ChannelConnection } from '@cairn/log'
import { asError, type ChannelConfig, type Config } from '@cairn/protocol'
import { agentNamesOf, DEFAULT_AGENT, openConnectionSettings, type Sealing } from '@cairn/sessions'
import type { ChannelDeps, Connection } from './deps.ts'
import { createRateLimiter } from './rate-limiter.ts'
import type { Send } from './send-request.ts'
import { createAdapter, type Env, sharedSecretOf, secretsOf } from './platforms.ts'
import { createHash } from 'node:crypto'

export type AgentsAndModels = Pick<Config, 'agents' | 'models'>
export type Opening = ChannelDeps & {
  config: Config
  /** The present agents and models of an organisation: those of cairn.yaml and those of its administrators. */
  configOf: (orgId: string) => Promise<AgentsAndModels>
  env: Env
  /** Decrypts secrets of connections that were created in the web UI. */
  sealing: Sealing
  /** Requests to URLs that were entered in the web UI, for an agent, use this fetch. */
  guardedFetch: (agent: string, agents: Config['agents']) => Send
  /** Adds values that redaction removes from events and log lines from now on. */
  learnSecrets: (secrets: readonly string[]) => void
  /** Identifies this process. */
  holder: string
}
/** `shared` detects a connection that would accept requests signed for this one. */
export type Opened = { connection: Connection; shared: string }
/** `missingAgent`: the agent without which the connection cannot work; null: the reason is another one. */
export type Unopened = { missingAgent: string | null }

class UnknownAgentError extends Error {
  readonly agent: string
  constructor(agent: string, known: readonly string[]) {
    super(`unknown agent ${JSON.stringify(agent)}: must be one of ${known.join(', ')}`)
    this.agent = agent
  }
}

/** If the connection cannot work, its state says why, and the service runs without it. */
export async function openConnection(
  opening: Opening,
  row: ChannelConnection,
  others: Iterable<Opened>,
): Promise<Opened | Unopened> {
  const { store, report } = opening
  const { channels } = store
  const { id, name } = row
  let opened: Opened
  try {
    const { settings, env } = given(opening, row)
    const fingerprint = fingerprintOf(id, settings, env)
    // The same settings were rejected before, and no retry was requested.
    if (row.state === 'broken' && row.refused_sha256 === fingerprint) return { missingAgent: null }
    const shared = sharedSecretOf(settings, env)
    const twin = twinOf(opening, row, shared, others)
    if (twin !== undefined)
      throw new Error(`uses the same secret as the channel ${twin}: each channel needs its own`)
    opened = { connection: await ready(opening, row, settings, env, fingerprint), shared }
  } catch (error) {
    const { message } = asError(error)
    report('error', `channel ${name} failed to open: ${message}`)
    if (await isNobodys(opening, id)) await channels.setConnection(id, 'broken', message)
    return { missingAgent: error instanceof UnknownAgentError ? error.agent : null }
  }
  // A failure of the store says nothing about the connection: this rejects, and the next pass tries again. A
  // connection with `consume` becomes live when the platform has responded.
  const { consume } = opened.connection.adapter
  await channels.setConnection(id, consume === undefined ? 'live' : 'connecting', null)
  return opened
}

/** If two in cairn.yaml share a secret, neither runs; one of the web UI does not run beside a running one. */
function twinOf(
  { config, env }: Opening,
  { name, origin }: ChannelConnection,
  shared: string,
  others: Iterable<Opened>,
): string | undefined {
  if (shared === '') return undefined
  const [configured] = Object.entries(config.channels).filter(
    ([other, settings]) => (origin === 'page' || other !== name) && sharedSecretOf(settings, env) === shared,
  )
  return configured?.[0] ?? [...others].find(other => other.shared === shared)?.connection.name
}

function given(
  { config, env, sealing }: Opening,
  row: ChannelConnection,
): { settings: ChannelConfig; env: Env } {
  if (row.origin === 'page') return openConnectionSettings(sealing, row)
  const settings = config.channels[row.name]
  if (settings === undefined) throw new Error('not configured in cairn.yaml')
  return { settings, env }
}

/** Rejects with a message for the operator. */
async function ready(
  opening: Opening,
  { id, org_id, name, platform, service_account_id, origin }: ChannelConnection,
  settings: ChannelConfig,
  env: Env,
  fingerprint: string,
): Promise<Connection> {
  const { config, now } = opening
  const { agent = DEFAULT_AGENT } = settings
  const known = await opening.configOf(org_id)
  const names = agentNamesOf(known)
  if (!names.includes(agent)) throw new UnknownAgentError(agent, names)
  const send = origin === 'page' ? opening.guardedFetch(agent, known.agents) : fetch
  const adapter = await createAdapter(settings, { id, env, now, fetch: send })
  return {
    id,
    org_id,
    name,
    platform,
    service_account_id,
    settings,
    env,
    adapter,
    agent,
    fingerprint,
    publicUrl: config.public_url ?? null,
    model: modelOf(known, agent),
    disclosure: {
      ...config.disclosure,
      ...settings.disclosure,
      level: settings.disclosure?.level ?? config.disclosure.level,
    },
    limiter: createRateLimiter(adapter.limits),
    pause: { until: 0 },
    consuming: { since: now() },
    health: { state: 'live' },
  }
}

export const modelOf = ({ agents, models }: AgentsAndModels, agent: string): string =>
  agents[agent]?.model ?? models.default ?? 'the demo model'

/** Another process that has the decryption key may be running this connection. */
async function isNobodys({ store: { channels }, holder }: Opening, id: string): Promise<boolean> {
  if ((await channels.acquire(id, 'deliver', holder, 1_000)) === null) return false
  await channels.release(id, 'deliver', holder)
  return true
}

/** A hash of a connection's settings and secrets, to detect changes. */
const fingerprintOf = (
  id: string,
  settings: ChannelConfig,
  env: Readonly<Record<string, string | undefined>>,
): string =>
  createHash('sha256')
    .update(JSON.stringify([id, settings, secretsOf(settings, env)]))
    .digest('hex')
