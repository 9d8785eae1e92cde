/** Linked accounts of messaging channels, each user's own; connections and deliveries, for administrators. */
import { AppError, type Principal } from '@cairn/protocol'
import { type ChannelConnection, type LogStore, noticesOf } from '@cairn/log'
import { createLinkCode } from '@cairn/sessions'
import type { Handler } from '../handler.ts'

const DELIVERIES = 100
const iso = (at: number): string => new Date(at).toISOString()

export const createChannelLink: Handler<'createChannelLink'> = async ({ services, principal }) => {
  const { code, expires_at } = await createLinkCode(services, principal)
  return { code, expires_at: iso(expires_at) }
}

export const listChannelLinks: Handler<'listChannelLinks'> = async ({ services, principal }) => ({
  links: (await services.store.channels.listIdentities(principal.id)).map(
    ({ id, platform, platform_user_id, linked_at }) => ({
      id,
      platform,
      platform_user_id,
      linked_at: iso(linked_at),
    }),
  ),
})

export const deleteChannelLink: Handler<'deleteChannelLink'> = async ({ services, principal, params }) => {
  if (!(await services.store.channels.deleteIdentity(principal.id, params.link_id)))
    throw new AppError('not_found', 'There is no such link.')
  return undefined
}

const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

export const listChannels: Handler<'listChannels'> = async ({ services, principal }) => {
  const { channels } = services.store
  const connections = await channels.listConnections(principal.org_id)
  const shown = connections.map(async ({ id, name, platform, state, last_error, last_error_at }) => {
    const { dead, last_in, last_out, waiting_since } = await channels.connectionFigures(id)
    return {
      id,
      name,
      platform,
      state,
      last_error,
      last_error_at: isoOrNull(last_error_at),
      dead_letters: dead,
      last_in_at: isoOrNull(last_in),
      last_out_at: isoOrNull(last_out),
      waiting_since: isoOrNull(waiting_since),
      webhook_path: `/v1/channels/${id}/webhook`,
    }
  })
  return { channels: await Promise.all(shown) }
}

/** A connection of another organisation is none. */
async function findConnection(
  { channels }: LogStore,
  { org_id }: Principal,
  id: string,
): Promise<ChannelConnection> {
  const connection = await channels.getConnection(id)
  if (connection === null || connection.org_id !== org_id)
    throw new AppError('not_found', 'There is no such channel.')
  return connection
}

export const listDeliveries: Handler<'listDeliveries'> = async ({ services, principal, params, query }) => {
  const connection = await findConnection(services.store, principal, params.channel_id)
  const deliveries = await services.store.channels.listDeliveries(connection.id, query.state, DELIVERIES)
  return {
    deliveries: deliveries.map(
      ({ key, session_id, event_id, part, state, attempts, error, possible_duplicate, updated_at }) => ({
        id: key,
        session_id: session_id === noticesOf(connection.id) ? null : session_id,
        event_id,
        part,
        state,
        attempts,
        error,
        possible_duplicate: possible_duplicate === 1,
        updated_at: iso(updated_at),
      }),
    ),
  }
}

const noDeadLetter = (): AppError => new AppError('not_found', 'There is no such dead letter.')

export const retryDelivery: Handler<'retryDelivery'> = async ({ services, principal, params }) => {
  const { id } = await findConnection(services.store, principal, params.channel_id)
  if ((await services.store.channels.redoDelivery(id, params.delivery_id)) === null) throw noDeadLetter()
  return undefined
}

export const dropDelivery: Handler<'dropDelivery'> = async ({ services, principal, params }) => {
  const { id } = await findConnection(services.store, principal, params.channel_id)
  if (!(await services.store.channels.dropDelivery(id, params.delivery_id))) throw noDeadLetter()
  return undefined
}

const SENDERS = 100

export const listSenders: Handler<'listSenders'> = async ({ services, principal, params }) => {
  const { id } = await findConnection(services.store, principal, params.channel_id)
  const senders = await services.store.channels.listSenders(id, SENDERS)
  return {
    senders: senders.map(({ platform_user_id, name, verdict, last_seen_at }) => ({
      platform_user_id,
      name,
      verdict,
      last_seen_at: iso(last_seen_at),
    })),
  }
}

export const judgeSender: Handler<'judgeSender'> = async ({ services, principal, params, body }) => {
  const { id } = await findConnection(services.store, principal, params.channel_id)
  if (!(await services.store.channels.judgeSender(id, params.sender, body.verdict)))
    throw new AppError('not_found', 'Nobody of that id has written here.')
  return undefined
}
