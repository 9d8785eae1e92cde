/** Inbox items of the agent, and people's answers to them. */
import { AppError } from '@cairn/protocol'
import {
  acknowledgeInbox,
  findInboxItem,
  markItems,
  markItemUnread,
  nameDecider,
  nameDeciders,
  readInbox,
  respondInbox as respond,
  shownItem,
  snoozeItem,
  unacknowledgeInbox,
  unsnoozeItem,
  visibleTo,
} from '@cairn/sessions'
import type { Handler } from '../handler.ts'
import { streamInboxChanges } from '../sse/inbox-stream.ts'
import { pageLimit } from './page-limit.ts'

export const listInbox: Handler<'listInbox'> = async ({ services, principal, query }) => {
  if (query.descendants === 'true' && query.session_id === undefined)
    throw new AppError(
      'bad_request',
      'Missing session_id: descendants=true lists the items of a session and its workers.',
    )
  const page = await services.store.inbox.list({
    ...visibleTo(principal),
    limit: pageLimit(query.limit),
    ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
    ...(query.session_id === undefined ? {} : { session_id: query.session_id }),
    ...(query.descendants === 'true' ? { descendants: true } : {}),
    ...(query.status === undefined ? {} : { status: query.status }),
    ...(query.kind === undefined ? {} : { kind: query.kind }),
  })
  const items = await markItems(services, principal, page.items)
  return { ...page, items: await nameDeciders(services, principal.org_id, items) }
}

export const streamInbox: Handler<'streamInbox'> = async ({ services, identity, exchange }) => {
  streamInboxChanges(services, exchange, identity)
  return undefined as never
}

export const getInboxItem: Handler<'getInboxItem'> = async ({ services, principal, params }) => {
  const item = shownItem(await findInboxItem(services.store, principal, params.item_id))
  const [marked = item] = await markItems(services, principal, [item])
  return nameDecider(services, principal.org_id, marked)
}
export const respondInbox: Handler<'respondInbox'> = async ({ services, principal, params, body }) => {
  const { service_accounts_decide: machinesToo } = services.config.governance
  if ('decision' in body && principal.kind === 'service_account' && !machinesToo)
    throw new AppError(
      'people_decide',
      'A service account cannot decide this item, because governance.service_accounts_decide is ' +
        'false: a user must decide it.',
    )
  return nameDecider(services, principal.org_id, await respond(services, params.item_id, body, principal))
}
export const readInboxItem: Handler<'readInboxItem'> = async ({ services, principal, params }) =>
  nameDecider(services, principal.org_id, await readInbox(services, params.item_id, principal))
export const ackInboxItem: Handler<'ackInboxItem'> = async ({ services, principal, params }) =>
  nameDecider(services, principal.org_id, await acknowledgeInbox(services, params.item_id, principal))
export const unackInboxItem: Handler<'unackInboxItem'> = ({ services, principal, params }) =>
  unacknowledgeInbox(services, params.item_id, principal)
export const unreadInboxItem: Handler<'unreadInboxItem'> = ({ services, principal, params }) =>
  markItemUnread(services, params.item_id, principal)
export const snoozeInboxItem: Handler<'snoozeInboxItem'> = ({ services, principal, params, body }) =>
  snoozeItem(services, params.item_id, body.until, principal)
export const unsnoozeInboxItem: Handler<'unsnoozeInboxItem'> = ({ services, principal, params }) =>
  unsnoozeItem(services, params.item_id, principal)
