/** Linked accounts of messaging channels, each user's own; connections and deliveries, for administrators. */
import { AppError } from '@cairn/protocol'
import { noticesOf } from '@cairn/log'
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

export const listChannels: Handler<'listChannels'> = async ({ services, principal }) => ({
  channels: (await services.store.channels.listConnections(principal.org_id)).map(
    ({ id, name, platform, state, last_error, last_error_at }) => ({
      id,
      name,
      platform,
      state,
      last_error,
      last_error_at: last_error_at === null ? null : iso(last_error_at),
      webhook_path: `/v1/channels/${id}/webhook`,
    }),
  ),
})

export const listDeliveries: Handler<'listDeliveries'> = async ({ services, principal, params, query }) => {
  const { channels } = services.store
  const connection = await channels.getConnection(params.channel_id)
  if (connection === null || connection.org_id !== principal.org_id)
    throw new AppError('not_found', 'There is no such channel.')
  const deliveries = await channels.listDeliveries(connection.id, query.state, DELIVERIES)
  return {
    deliveries: deliveries.map(
      ({ session_id, event_id, part, state, attempts, error, possible_duplicate, updated_at }) => ({
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
