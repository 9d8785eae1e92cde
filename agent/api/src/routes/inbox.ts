/** What the agent raised to a human, and the human's answers. */
import {
  acknowledgeInbox,
  findInboxItem,
  readInbox,
  respondInbox as respond,
  shownItem,
  visibleTo,
} from '@cairn/sessions'
import type { Handler } from '../handler.ts'
import { streamInboxChanges } from '../sse/inbox-stream.ts'
import { pageLimit } from './page-limit.ts'

export const listInbox: Handler<'listInbox'> = async ({ services, principal, query }) =>
  services.store.listInbox({
    ...visibleTo(principal),
    limit: pageLimit(query.limit),
    ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
    ...(query.session_id === undefined ? {} : { session_id: query.session_id }),
    ...(query.status === undefined ? {} : { status: query.status }),
    ...(query.kind === undefined ? {} : { kind: query.kind }),
  })

export const streamInbox: Handler<'streamInbox'> = async ({ services, identity, exchange }) => {
  await streamInboxChanges(services, exchange, identity)
  return undefined as never
}

export const getInboxItem: Handler<'getInboxItem'> = async ({ services, principal, params }) =>
  shownItem(await findInboxItem(services.store, principal, params.item_id))
export const respondInbox: Handler<'respondInbox'> = ({ services, principal, params, body }) =>
  respond(services, params.item_id, body, principal)
export const readInboxItem: Handler<'readInboxItem'> = ({ services, principal, params }) =>
  readInbox(services, params.item_id, principal)
export const ackInboxItem: Handler<'ackInboxItem'> = ({ services, principal, params }) =>
  acknowledgeInbox(services, params.item_id, principal)
