/** Linked accounts of messaging channels, for each user; deliveries and senders, for administrators. */
import { type AnswerOf, AppError } from '@cairn/protocol'
import { type ChannelDelivery, repliesOf } from '@cairn/log'
import { createLinkCode } from '@cairn/sessions'
import type { Handler } from '../handler.ts'
import { findConnection } from './find-connection.ts'

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
    throw new AppError('not_found', 'Channel link not found.')
  return undefined
}

type Delivery = AnswerOf<'getDelivery'>

const shownDelivery = ({ connection_id, possible_duplicate, ...row }: ChannelDelivery): Delivery => ({
  id: row.key,
  session_id: row.session_id === repliesOf(connection_id) ? null : row.session_id,
  event_id: row.event_id,
  part: row.part,
  state: row.state,
  attempts: row.attempts,
  error: row.error,
  possible_duplicate: possible_duplicate === 1,
  updated_at: iso(row.updated_at),
})

export const listDeliveries: Handler<'listDeliveries'> = async ({ services, principal, params, query }) => {
  const connection = await findConnection(services, principal, params.channel_id)
  const deliveries = await services.store.channels.listDeliveries(connection.id, query.state, DELIVERIES)
  return { deliveries: deliveries.map(shownDelivery) }
}

export const getDelivery: Handler<'getDelivery'> = async ({ services, principal, params }) => {
  const { id } = await findConnection(services, principal, params.channel_id)
  const delivery = await services.store.channels.deliveryOfKey(id, params.delivery_id)
  if (delivery === null) throw new AppError('not_found', 'Delivery not found.')
  return shownDelivery(delivery)
}

const noDeadLetter = (): AppError => new AppError('not_found', 'Failed delivery not found.')

export const retryDelivery: Handler<'retryDelivery'> = async ({ services, principal, params }) => {
  const { id } = await findConnection(services, principal, params.channel_id)
  if ((await services.store.channels.redoDelivery(id, params.delivery_id)) === null) throw noDeadLetter()
  return undefined
}

export const dropDelivery: Handler<'dropDelivery'> = async ({ services, principal, params }) => {
  const { id } = await findConnection(services, principal, params.channel_id)
  if (!(await services.store.channels.dropDelivery(id, params.delivery_id))) throw noDeadLetter()
  return undefined
}

const SENDERS = 100

export const listSenders: Handler<'listSenders'> = async ({ services, principal, params }) => {
  const { id } = await findConnection(services, principal, params.channel_id)
  const senders = await services.store.channels.listSenders(id, SENDERS)
  return {
    senders: senders.map(({ platform_user_id, name, verdict, user_id, last_seen_at }) => ({
      platform_user_id,
      name,
      verdict,
      user_id,
      last_seen_at: iso(last_seen_at),
    })),
  }
}

export const judgeSender: Handler<'judgeSender'> = async ({ services, principal, params, body }) => {
  const { id } = await findConnection(services, principal, params.channel_id)
  if (!(await services.store.channels.judgeSender(id, params.sender, body.verdict)))
    throw new AppError('not_found', 'Sender not found.')
  return undefined
}
