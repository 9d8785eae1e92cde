/** Starts all connections, and handles the requests of platforms. */
import { AppError } from '@cairn/protocol'
import { derivedId, ensureChannelAccount } from '@cairn/sessions'
import { acknowledge } from './consume.ts'
import type { Opening } from './open-connection.ts'
import { receive } from './receive.ts'
import { supervise } from './supervise.ts'
import { createBudgets } from './website/budgets.ts'
import { corsHeaders } from './website/cors.ts'
import type { SiteCall } from './website/owner.ts'
import { createWebsite, WEBSITE_PREFIX } from './website/site.ts'

export type ChannelsOptions = Opening & {
  /** The owner of the connections of cairn.yaml, and the creator of their service accounts. */
  org_id: string
  created_by: string
}
export type Channels = {
  /** Handles a request under one of `prefixes`; throws AppError to reject it. */
  handle(request: SiteCall): Promise<Response>
  prefixes: readonly string[]
  /** Headers of every response to this request, errors included. */
  headersFor(path: string, headers: Headers): Record<string, string>
  /** Name and path of every connection that a platform may call. */
  paths: readonly { name: string; path: string }[]
  stop(): Promise<void>
}

/** Timeout for acknowledging a button action. */
const ACKNOWLEDGE_MS = 10_000
const pathOf = (id: string): string => `/v1/channels/${id}/webhook`
const PATH = /^\/v1\/channels\/([A-Za-z0-9-]{1,64})\/webhook$/

export async function startChannels(options: ChannelsOptions): Promise<Channels> {
  for (const [name, { platform }] of Object.entries(options.config.channels))
    await putConfigured(options, name, platform)
  const supervisor = await supervise(options, options.org_id)
  const { live } = supervisor
  const { channels } = options.store
  const website = createWebsite({
    ...options,
    find: id => live.get(id)?.connection ?? null,
    budgets: createBudgets(options, () => performance.now()),
  })
  return {
    paths: [...live.values()].map(({ connection: { id, name } }) => ({ name, path: pathOf(id) })),
    prefixes: ['/v1/channels/', WEBSITE_PREFIX],
    headersFor: (path, headers) =>
      path.startsWith(WEBSITE_PREFIX)
        ? corsHeaders(
            headers,
            [...live.values()].map(({ connection }) => connection),
          )
        : {},
    async handle({ path, ...call }) {
      if (path.startsWith(WEBSITE_PREFIX)) return website.handle({ path, ...call })
      const id = PATH.exec(path)?.[1]
      const found = id === undefined ? null : await supervisor.find(id)
      if (found === null) throw new AppError('not_found', 'Channel not found, or it is disabled.')
      const { webhook } = found.connection.adapter
      if (webhook === null)
        throw new AppError('not_found', 'This channel has no webhook: it polls its platform.')
      if (!webhook.methods.includes(call.method))
        throw new AppError(
          'method_not_allowed',
          `Method ${call.method} not allowed. Allowed: ${webhook.methods.join(', ')}.`,
        )
      if (call.raw.length > webhook.bodyLimit)
        throw new AppError(
          'body_too_large',
          `Request body too large: must be at most ${webhook.bodyLimit} bytes.`,
        )
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
      await supervisor.stop()
    },
  }
}

async function putConfigured(options: ChannelsOptions, name: string, platform: string): Promise<void> {
  const { store, org_id, created_by } = options
  const service_account_id = await ensureChannelAccount(options, { org_id, name, created_by })
  const id = derivedId('channel', org_id, name)
  await store.channels.putConnection({ id, org_id, name, platform, service_account_id })
}
