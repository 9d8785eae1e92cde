/** The caller's notification settings. Only the person concerned can see and change them. */
import {
  chooseNotifications as choose,
  confirmNotificationEmail as confirm,
  type NotificationDeps,
  pushPublicKey,
  resendNotification as resend,
  setNotificationEmail as setMail,
  setNotificationWebhook as setWebhook,
  subscribePush as subscribe,
  testNotification as test,
  viewNotifications,
} from '@cairn/sessions'
import { AppError } from '@cairn/protocol'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'

const offersOf = ({ config: { notices } }: Services): NotificationDeps['offers'] => ({
  webhook: notices.webhook,
  mail: notices.mail !== undefined,
  push: notices.push,
})

function depsOf(services: Services): NotificationDeps {
  const { store, newId, notices } = services
  if (notices === undefined)
    throw new AppError('wrong_state', 'This server does not send notifications: use a server that does.')
  return { store, newId, offers: offersOf(services), ...notices }
}

export const getNotices: Handler<'getNotices'> = ({ services, principal }) =>
  viewNotifications({ store: services.store, offers: offersOf(services) }, principal)

export const chooseNotices: Handler<'chooseNotices'> = async ({ services, principal, body }) => {
  const deps = depsOf(services)
  await choose(deps, principal, body)
  return viewNotifications(deps, principal)
}

export const setNoticeWebhook: Handler<'setNoticeWebhook'> = async ({ services, principal, body }) => ({
  url: body.url,
  secret: await setWebhook(depsOf(services), principal, body.url),
})

export const endNoticeWebhook: Handler<'endNoticeWebhook'> = async ({ services, principal }) => {
  await services.store.notifications.setWebhook(principal.id, null)
  return undefined
}

export const setNoticeMail: Handler<'setNoticeMail'> = async ({ services, principal, body }) => {
  const deps = depsOf(services)
  await setMail(deps, principal, body.address)
  return viewNotifications(deps, principal)
}

export const confirmNoticeMail: Handler<'confirmNoticeMail'> = async ({ services, principal, body }) => {
  const deps = depsOf(services)
  await confirm(deps, principal, body.code)
  return viewNotifications(deps, principal)
}

export const endNoticeMail: Handler<'endNoticeMail'> = async ({ services, principal }) => {
  await services.store.notifications.setMail(principal.id, null)
  return undefined
}

export const getPushKey: Handler<'getPushKey'> = async ({ services, principal }) => ({
  public_key: await pushPublicKey(depsOf(services), principal),
})

export const subscribePush: Handler<'subscribePush'> = async ({ services, principal, body }) => {
  const deps = depsOf(services)
  await subscribe(deps, principal, body)
  return viewNotifications(deps, principal)
}

export const unsubscribePush: Handler<'unsubscribePush'> = async ({ services, principal, params }) => {
  await services.store.push.unsubscribe(principal.id, params.browser_id)
  return undefined
}

export const testNotice: Handler<'testNotice'> = async ({ services, principal, body }) => {
  const deps = depsOf(services)
  await test(deps, principal, body.way)
  return viewNotifications(deps, principal)
}

export const resendNotice: Handler<'resendNotice'> = async ({ services, principal, params }) => {
  const deps = depsOf(services)
  await resend(deps, principal, params.notice_id)
  return viewNotifications(deps, principal)
}
