/** A person's notification settings: kinds, a webhook with a secret, an email address. */
import { randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import {
  NOTIFICATIONS,
  type InboxNotification,
  type PushStore,
  type NotificationSettings,
  type NotificationStore,
  type NotificationMethod,
} from '@cairn/log'
import { AppError, type AnswerOf, type BodyOf, type InboxKind, type Principal } from '@cairn/protocol'
import type { Deps } from '../deps.ts'
import type { Sealing } from '../sealing.ts'
import { addPushBrowser, pushKeys } from './push-settings.ts'

export type NotificationDeps = Pick<Deps, 'newId'> & {
  store: { notifications: NotificationStore; push: PushStore }
  sealing: Sealing
  /** Notification methods that this server supports. */
  offers: Readonly<Record<NotificationMethod, boolean>>
  /** Why a webhook or a push service may not have this URL; null if it may. */
  urlProblem: (url: string) => string | null
}
type Choice = Pick<AnswerOf<'getNotices'>, 'kinds' | 'scope' | 'after_s'>
type Person = Pick<Principal, 'id' | 'org_id'>

const NONE: Choice = { kinds: [], scope: 'own', after_s: 30 }
const SECRET_BYTES = 32
const CODE_TTL_MS = 60 * 60_000
const CODE_TRIES = 5
const RECENT = 20

/** Additional authenticated data: binds an encrypted value to its person. */
const aboutSecret = (userId: string): string => `${NOTIFICATIONS} secret of ${userId}`
const aboutCode = (userId: string): string => `${NOTIFICATIONS} code for ${userId}`

const choiceOf = (settings: NotificationSettings | null): Choice =>
  settings === null
    ? NONE
    : {
        kinds: JSON.parse(settings.kinds) as InboxKind[],
        scope: settings.scope,
        after_s: settings.after_ms / 1000,
      }

export async function chooseNotifications(
  { store: { notifications } }: Pick<NotificationDeps, 'store'>,
  { id: user_id, org_id }: Person,
  choice: BodyOf<'chooseNotices'>,
): Promise<void> {
  const before = choiceOf(await notifications.settings(user_id))
  const { kinds = before.kinds, scope = before.scope, after_s = before.after_s } = choice
  await notifications.putChoice({
    user_id,
    org_id,
    scope,
    kinds: JSON.stringify([...new Set(kinds)]),
    after_ms: after_s * 1000,
  })
}

/** Returns the new secret. */
export async function setNotificationWebhook(
  deps: NotificationDeps,
  person: Person,
  url: string,
): Promise<string> {
  refuseUnoffered(deps, 'webhook')
  refuseUrl(deps, 'url', url)
  const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
  await chooseNotifications(deps, person, {})
  await deps.store.notifications.setWebhook(person.id, {
    url,
    secret: deps.sealing.seal(aboutSecret(person.id), secret),
  })
  return secret
}

function refuseUrl({ urlProblem }: NotificationDeps, path: string, url: string): void {
  const problem = urlProblem(url)
  if (problem !== null)
    throw new AppError('invalid_body', `${path}: ${problem}`, {
      extra: { errors: [{ path, message: problem }] },
    })
}

/** Turns Web Push on for one browser, whose address at its push service the caller states. */
export async function subscribePush(
  deps: NotificationDeps,
  person: Person,
  subscription: BodyOf<'subscribePush'>,
): Promise<void> {
  refuseUnoffered(deps, 'push')
  refuseUrl(deps, 'endpoint', subscription.endpoint)
  await chooseNotifications(deps, person, {})
  await addPushBrowser(deps, person, subscription)
}

/** The public key with which a browser subscribes. */
export async function pushPublicKey(deps: NotificationDeps, { org_id }: Person): Promise<string> {
  refuseUnoffered(deps, 'push')
  return (await pushKeys(deps, org_id)).publicKey
}

/** The address must be confirmed with a code first, so that a person cannot subscribe strangers. */
export async function setNotificationEmail(
  deps: NotificationDeps,
  person: Person,
  address: string,
): Promise<void> {
  refuseUnoffered(deps, 'mail')
  const code = String(randomInt(10 ** 8)).padStart(8, '0')
  await chooseNotifications(deps, person, {})
  await deps.store.notifications.setMail(person.id, {
    address,
    code: deps.sealing.seal(aboutCode(person.id), code),
    ttl_ms: CODE_TTL_MS,
  })
  await planAsked(deps, person, 'mail', 'code')
}

export async function confirmNotificationEmail(
  { store: { notifications }, sealing }: NotificationDeps,
  { id }: Person,
  given: string,
): Promise<void> {
  const sealed = await notifications.tryMailCode(id, CODE_TRIES)
  const code = sealed === null ? null : sealing.open(aboutCode(id), sealed)
  const isIt =
    code !== null &&
    given.length === code.length &&
    timingSafeEqual(Buffer.from(given.padEnd(20)), Buffer.from(code.padEnd(20)))
  if (sealed === null || !isIt || !(await notifications.confirmMail(id, sealed)))
    throw new AppError('wrong_state', 'Wrong or expired code, or five failed attempts: request a new code.')
}

/** Sends a test notification. */
export async function testNotification(
  deps: NotificationDeps,
  person: Person,
  way: NotificationMethod,
): Promise<void> {
  refuseUnoffered(deps, way)
  const settings = await deps.store.notifications.settings(person.id)
  if (!(await isMethodOn(deps.store, person.id, settings, way)))
    throw new AppError('wrong_state', NOT_ON[way])
  await planAsked(deps, person, way, 'test')
}

const NOT_ON: Readonly<Record<NotificationMethod, string>> = {
  webhook: 'You have no webhook yet.',
  mail: 'You have no confirmed email address yet.',
  push: 'You have no subscribed browser yet.',
}

/** Whether the person has turned this method on. */
export async function isMethodOn(
  { push }: { push: PushStore },
  userId: string,
  settings: NotificationSettings | null,
  way: NotificationMethod,
): Promise<boolean> {
  if (way === 'push') return (await push.subscriptions(userId)).length > 0
  return ((way === 'webhook' ? settings?.webhook_since : settings?.mail_since) ?? null) !== null
}

/**
 * Retries a failed notification from its first attempt. It keeps its id, so a receiver recognises a
 * duplicate.
 */
export async function resendNotification(
  deps: NotificationDeps,
  { id: userId }: Person,
  id: string,
): Promise<void> {
  if (!(await deps.store.notifications.redo(id, userId)))
    throw new AppError('not_found', 'Failed notification not found.')
}

const planAsked = (
  { store: { notifications }, newId }: NotificationDeps,
  { id: user_id }: Person,
  way: NotificationMethod,
  what: 'test' | 'code',
): Promise<void> => notifications.plan({ id: newId(), user_id, way, about: `${what}:${newId()}`, next_at: 0 })

function refuseUnoffered({ offers }: NotificationDeps, way: NotificationMethod): void {
  if (!offers[way]) throw new AppError('wrong_state', NOT_OFFERED[way])
}

const NOT_OFFERED: Readonly<Record<NotificationMethod, string>> = {
  webhook: 'This server does not send webhooks: notices.webhook is false.',
  mail: 'This server cannot send email: notices.mail is not configured.',
  push: 'This server does not send Web Push: notices.push is false.',
}

/** The decrypted secrets of the settings, for sending; null if they were encrypted with another key. */
export const openNotificationSecret = (
  sealing: Sealing,
  { user_id, webhook_secret }: NotificationSettings,
) => (webhook_secret === null ? null : sealing.open(aboutSecret(user_id), webhook_secret))
export const openNotificationCode = (sealing: Sealing, { user_id, mail_code }: NotificationSettings) =>
  mail_code === null ? null : sealing.open(aboutCode(user_id), mail_code)

const iso = (at: number): string => new Date(at).toISOString()

const shownNotification = ({
  id,
  way,
  about,
  state,
  attempts,
  error,
  created_at,
  next_at,
}: InboxNotification) => ({
  id,
  way,
  item_id: isRequested(about) ? null : about,
  state,
  attempts,
  error,
  created_at: iso(created_at),
  next_at: state === 'due' ? iso(Math.max(next_at, created_at)) : null,
})

/** True for notifications that a person requested; they are not about an item. */
export const isRequested = (about: string): boolean => /^(?:test|code):/.test(about)

/** The settings without secrets and codes. */
export async function viewNotifications(
  { store: { notifications, push }, offers }: Pick<NotificationDeps, 'store' | 'offers'>,
  { id }: Person,
): Promise<AnswerOf<'getNotices'>> {
  const settings = await notifications.settings(id)
  const url = settings?.webhook_url ?? null
  const address = settings?.mail_address ?? null
  return {
    ...choiceOf(settings),
    webhook: url === null ? null : { url },
    mail: address === null ? null : { address, confirmed: (settings?.mail_since ?? null) !== null },
    push: (await push.subscriptions(id)).map(({ id, created_at }) => ({ id, created_at: iso(created_at) })),
    offers,
    recent: (await notifications.list(id, RECENT)).map(shownNotification),
  }
}
