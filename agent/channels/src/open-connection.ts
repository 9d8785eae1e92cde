/** Makes a connection ready to run, from cairn.yaml or from what an administrator made on the page. */
import type { ChannelConnection } from '@cairn/log'
import { asError, type ChannelConfig, type Config } from '@cairn/protocol'
import { DEFAULT_AGENT, openConnectionSettings, type Sealing } from '@cairn/sessions'
import type { ChannelDeps, Connection } from './deps.ts'
import { fingerprintOf } from './fingerprint.ts'
import { createPace } from './pace.ts'
import type { Send } from './send-request.ts'
import { createAdapter, type Env, sharedSecretOf } from './platforms.ts'

export type Opening = ChannelDeps & {
  config: Config
  env: Env
  /** Opens the secrets of connections that were made on the page. */
  sealing: Sealing
  /** What goes to a URL that was given on the page, for an agent, goes through this. */
  guardedFetch: (agent: string) => Send
  /** From now on no event and no line of the log holds these. */
  learnSecrets: (secrets: readonly string[]) => void
  /** Of this process: no other has it. */
  holder: string
}
/** `shared` finds a connection that would take what is signed for this one. */
export type Opened = { connection: Connection; shared: string }

/** Null: it cannot work as it is, and its state says why; the service runs without it. */
export async function openConnection(
  opening: Opening,
  row: ChannelConnection,
  others: Iterable<Opened>,
): Promise<Opened | null> {
  const { store, report } = opening
  const { channels } = store
  const { id, name } = row
  let opened: Opened
  try {
    const { settings, env } = given(opening, row)
    const fingerprint = fingerprintOf(id, settings, env)
    // Refused before, and nobody has changed anything or asked for another try.
    if (row.state === 'broken' && row.refused_sha256 === fingerprint) return null
    const shared = sharedSecretOf(settings, env)
    const twin = twinOf(opening, row, shared, others)
    if (twin !== undefined)
      throw new Error(`its secret is also that of the channel ${twin}: each needs its own`)
    opened = { connection: await ready(opening, row, settings, env, fingerprint), shared }
  } catch (thrown) {
    const { message } = asError(thrown)
    report('error', `the channel ${name} does not work: ${message}`)
    if (await isNobodys(opening, id)) await channels.setConnection(id, 'broken', message)
    return null
  }
  // A store that fails here says nothing of the connection: it rejects, and the next look tries again.
  // What asks its platform itself is live when the platform has answered.
  const { consume } = opened.connection.adapter
  await channels.setConnection(id, consume === undefined ? 'live' : 'connecting', null)
  return opened
}

/** Of two in cairn.yaml neither runs; one of the page does not run beside what runs already. */
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
  if (settings === undefined) throw new Error('cairn.yaml does not name it')
  return { settings, env }
}

/** Rejects, in words for the operator. */
async function ready(
  opening: Opening,
  { id, org_id, name, platform, service_account_id, origin }: ChannelConnection,
  settings: ChannelConfig,
  env: Env,
  fingerprint: string,
): Promise<Connection> {
  const { config, agents, now } = opening
  const { agent = DEFAULT_AGENT } = settings
  if (!agents.includes(agent))
    throw new Error(`no agent is named ${JSON.stringify(agent)}; there are ${agents.join(', ')}`)
  const send = origin === 'page' ? opening.guardedFetch(agent) : fetch
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
    model: config.agents[agent]?.model ?? config.models.default ?? 'the demo model',
    disclosure: {
      ...config.disclosure,
      ...settings.disclosure,
      level: settings.disclosure?.level ?? config.disclosure.level,
    },
    pace: createPace(adapter.limits),
    pause: { until: 0 },
    health: { state: 'live' },
  }
}

/** Another process may run it well: one that has the key of its secrets. */
async function isNobodys({ store: { channels }, holder }: Opening, id: string): Promise<boolean> {
  if ((await channels.acquire(id, 'deliver', holder, 1_000)) === null) return false
  await channels.release(id, 'deliver', holder)
  return true
}
