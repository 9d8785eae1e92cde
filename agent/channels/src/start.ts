/** Starts every connection of the configuration, and answers the platforms that call. */
import { createHash } from 'node:crypto'
import { AppError, asError, type ChannelConfig, type Config } from '@cairn/protocol'
import { DEFAULT_AGENT, derivedId } from '@cairn/sessions'
import { acknowledge } from './consume.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { createPace } from './pace.ts'
import { createAdapter, sharersOf } from './platforms.ts'
import { receive } from './receive.ts'
import { runConnection, type Running } from './run-connection.ts'
import type { SiteCall } from './website/owner.ts'
import { createWebsite, WEBSITE_PREFIX } from './website/site.ts'

export type ChannelsOptions = ChannelDeps & {
  config: Config
  env: Readonly<Record<string, string | undefined>>
  /** Whose connections these are, and who is said to have made their service accounts. */
  org_id: string
  created_by: string
  /** Of this process: no other has it. */
  holder: string
}
export type Channels = {
  /** A request below one of `prefixes`; throws AppError for what is refused. */
  handle(request: SiteCall): Promise<Response>
  prefixes: readonly string[]
  /** Name and path of every connection that a platform may call. */
  paths: readonly { name: string; path: string }[]
  stop(): Promise<void>
}

/** So long a platform is told that a press was taken. */
const ACKNOWLEDGE_MS = 10_000
const PATH = /^\/v1\/channels\/([A-Za-z0-9-]{1,64})\/webhook$/

export async function startChannels(options: ChannelsOptions): Promise<Channels> {
  const live = new Map<string, { connection: Connection; running: Running }>()
  for (const [name, settings] of Object.entries(options.config.channels)) {
    const connection = await openConnection(options, name, settings)
    if (connection !== null)
      live.set(connection.id, {
        connection,
        running: runConnection(options, connection, options.holder),
      })
  }
  const { channels } = options.store
  const website = createWebsite({ ...options, find: id => live.get(id)?.connection ?? null })
  return {
    paths: [...live.values()].map(({ connection: { id, name } }) => ({
      name,
      path: `/v1/channels/${id}/webhook`,
    })),
    prefixes: ['/v1/channels/', WEBSITE_PREFIX],
    async handle({ path, ...call }) {
      if (path.startsWith(WEBSITE_PREFIX)) return website.handle({ path, ...call })
      const id = PATH.exec(path)?.[1]
      const found = id === undefined ? undefined : live.get(id)
      if (found === undefined || (await channels.getConnection(found.connection.id))?.state === 'disabled')
        throw new AppError('not_found', 'There is no such channel, or it is disabled.')
      const { webhook } = found.connection.adapter
      if (webhook === null)
        throw new AppError('not_found', 'Nobody calls this channel: it asks its platform itself.')
      if (!webhook.methods.includes(call.method))
        throw new AppError(
          'method_not_allowed',
          `${call.method} is not possible here; ${webhook.methods.join(' and ')} is.`,
        )
      if (call.raw.length > webhook.bodyLimit)
        throw new AppError('body_too_large', `A request may have ${webhook.bodyLimit} bytes here.`)
      const challenge = webhook.verify(call)
      if (challenge !== null) return challenge
      const events = await webhook.parse(call)
      await receive(channels, found.connection, events)
      acknowledge(options, found.connection, events, AbortSignal.timeout(ACKNOWLEDGE_MS))
      found.running.nudge()
      return webhook.taken?.() ?? Response.json({})
    },
    async stop() {
      website.stop()
      await Promise.all([...live.values()].map(({ running }) => running.stop()))
    },
  }
}

/** Null: it cannot work as it is configured, and its state says why; the service runs without it. */
async function openConnection(
  options: ChannelsOptions,
  name: string,
  settings: ChannelConfig,
): Promise<Connection | null> {
  const { store, org_id, config, env, agents, report } = options
  const id = derivedId('channel', org_id, name)
  const service_account_id = await ensureAccount(options, name)
  const row = { id, org_id, name, platform: settings.platform, service_account_id }
  await store.channels.putConnection(row)
  try {
    const { agent = DEFAULT_AGENT } = settings
    if (!agents.includes(agent))
      throw new Error(`no agent is named ${JSON.stringify(agent)}; there are ${agents.join(', ')}`)
    const [twin] = sharersOf(name, config.channels, env)
    if (twin !== undefined)
      throw new Error(`its secret is also that of the channel ${twin}: each needs its own`)
    const adapter = createAdapter(settings, { id, env, now: options.now })
    // What asks its platform itself is live when the platform has answered.
    await store.channels.setConnection(id, adapter.consume === undefined ? 'live' : 'connecting', null)
    return {
      ...row,
      settings,
      adapter,
      agent,
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
  } catch (thrown) {
    const { message } = asError(thrown)
    report('error', `the channel ${name} does not work: ${message}`)
    await store.channels.setConnection(id, 'broken', message)
    return null
  }
}

/** The account that speaks for strangers. Nobody has a token of it: its hash is of nothing that was kept. */
async function ensureAccount(
  { store, org_id, created_by, newId }: ChannelsOptions,
  name: string,
): Promise<string> {
  const id = derivedId('channel account', org_id, name)
  const isThere = async (): Promise<boolean> =>
    (await store.accounts.listServiceAccounts(org_id)).some(account => account.id === id)
  if (await isThere()) return id
  try {
    await store.accounts.createServiceAccount({
      id,
      org_id,
      name: `channel:${name}`,
      scope: 'own',
      token_sha256: createHash('sha256').update(`${newId()}${newId()}`).digest('hex'),
      token_prefix: '',
      created_by,
      expires_at: null,
    })
  } catch (thrown) {
    // Another process was first.
    if (!(await isThere())) throw thrown
  }
  return id
}
