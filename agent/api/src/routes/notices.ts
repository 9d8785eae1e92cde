/** The caller's notification settings. Only the person concerned can see and change them. */
import {
  chooseNotices as choose,
  confirmNoticeMail as confirm,
  type NoticeDeps,
  resendNotice as resend,
  setNoticeMail as setMail,
  setNoticeWebhook as setWebhook,
  testNotice as test,
  viewNotices,
} from '@cairn/sessions'
import { AppError } from '@cairn/protocol'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'

const offersOf = ({ config: { notices } }: Services): NoticeDeps['offers'] => ({
  webhook: notices.webhook,
  mail: notices.mail !== undefined,
})

function depsOf(services: Services): NoticeDeps {
  const { store, newId, notices } = services
  if (notices === undefined)
    throw new AppError('wrong_state', 'This server sends no notices: ask one that does.')
  return { store, newId, offers: offersOf(services), ...notices }
}

export const getNotices: Handler<'getNotices'> = ({ services, principal }) =>
  viewNotices({ store: services.store, offers: offersOf(services) }, principal)

export const chooseNotices: Handler<'chooseNotices'> = async ({ services, principal, body }) => {
  const deps = depsOf(services)
  await choose(deps, principal, body)
  return viewNotices(deps, principal)
}

export const setNoticeWebhook: Handler<'setNoticeWebhook'> = async ({ services, principal, body }) => ({
  url: body.url,
  secret: await setWebhook(depsOf(services), principal, body.url),
})

export const endNoticeWebhook: Handler<'endNoticeWebhook'> = async ({ services, principal }) => {
  await services.store.notices.setWebhook(principal.id, null)
  return undefined
}

export const setNoticeMail: Handler<'setNoticeMail'> = async ({ services, principal, body }) => {
  const deps = depsOf(services)
  await setMail(deps, principal, body.address)
  return viewNotices(deps, principal)
}

export const confirmNoticeMail: Handler<'confirmNoticeMail'> = async ({ services, principal, body }) => {
  const deps = depsOf(services)
  await confirm(deps, principal, body.code)
  return viewNotices(deps, principal)
}

export const endNoticeMail: Handler<'endNoticeMail'> = async ({ services, principal }) => {
  await services.store.notices.setMail(principal.id, null)
  return undefined
}

export const testNotice: Handler<'testNotice'> = async ({ services, principal, body }) => {
  const deps = depsOf(services)
  await test(deps, principal, body.way)
  return viewNotices(deps, principal)
}

export const resendNotice: Handler<'resendNotice'> = async ({ services, principal, params }) => {
  const deps = depsOf(services)
  await resend(deps, principal, params.notice_id)
  return viewNotices(deps, principal)
}
