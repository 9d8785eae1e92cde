/**
 * Resolves the website and the conversation of a request. A conversation of another visitor counts as not
 * found.
 */
import type { ChannelVisitor } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import type { Call } from '../adapter.ts'
import type { ChannelDeps, Connection } from '../deps.ts'
import type { Budgets, SiteLimits } from './budgets.ts'
import * as visitors from './visitor.ts'

export type Site = {
  connection: Connection
  limits: SiteLimits
  origins: readonly string[]
  identitySecret: string | null
  requireConfirm: boolean
}
export type Owner = { site: Site; visitor: ChannelVisitor; token: string }
/**
 * `signal`: aborts when the caller disconnects. `address`: the unit of budgets, an address or an IPv6
 * network.
 */
export type SiteCall = Call & { path: string; signal: AbortSignal; address: string }
export type SiteDeps = ChannelDeps & {
  budgets: Budgets
  /** A connection that this process runs. */
  find: (connectionId: string) => Connection | null
}

const KEY = /^cairn_wk_([A-Za-z0-9-]{1,64})$/
/** The key identifies the connection and is not a secret: every page contains it. */
export const siteOfKey = (deps: SiteDeps, key: string | null): Promise<Site> =>
  siteOf(deps, KEY.exec(key ?? '')?.[1] ?? '')

async function siteOf({ store, find }: SiteDeps, connectionId: string): Promise<Site> {
  const connection = find(connectionId)
  const settings = connection?.settings
  if (
    connection === null ||
    settings?.platform !== 'website' ||
    (await store.channels.getConnection(connection.id))?.state === 'disabled'
  )
    throw new AppError('not_found', 'Widget not found, or it is disabled.')
  const { origins, require_confirm, identity_secret_env, per_address_hour, per_day } = settings
  return {
    connection,
    limits: { per_address_hour, per_day },
    origins,
    requireConfirm: require_confirm,
    identitySecret: identity_secret_env === undefined ? null : (connection.env[identity_secret_env] ?? null),
  }
}

export async function ownerOf(deps: SiteDeps, headers: Headers, id: string): Promise<Owner> {
  const { channels } = deps.store
  const conversation = await channels.conversationOf(id)
  const token = conversation === null ? null : visitors.tokenOf(headers, conversation.connection_id)
  const visitor =
    conversation === null || token === null
      ? null
      : await channels.visitor(conversation.connection_id, visitors.hashToken(token))
  if (token === null || visitor === null || conversation?.key !== visitors.visitorKey(visitor))
    throw new AppError('not_found', `Conversation ${id} not found.`)
  return { site: await siteOf(deps, conversation.connection_id), visitor, token }
}

/** Like `ownerOf`, for a request that writes. */
export async function writerOf(deps: SiteDeps, { headers }: SiteCall, id: string): Promise<Owner> {
  const owner = await ownerOf(deps, headers, id)
  visitors.checkOrigin(headers, owner.site.origins)
  visitors.checkCsrf(headers, owner.token)
  return owner
}

export async function checkConfirmed({ store }: SiteDeps, { requireConfirm, connection }: Site, id: string) {
  if (!requireConfirm || connection.disclosure.level === 'none') return
  if ((await store.events.read(id, 0, 1, ['disclosure.confirmed'])).length > 0) return
  throw new AppError('disclosure_required', 'Confirm the AI disclosure of this conversation first.')
}
