/**
 * Sends one notification: checks that it is still due, makes the call, and records the outcome. Its row is
 * written before the call and settled after it, so a row found `sending` belongs to a process that died: it
 * is sent again with the same id.
 */
import type { LogStore, InboxNotification, NotificationSettings, Redact } from '@cairn/log'
import {
  isMethodOn,
  isRequested,
  mayAccess,
  openNotificationCode,
  openNotificationSecret,
  type Sealing,
  shownItem,
} from '@cairn/sessions'
import { SendFailed } from '../adapter.ts'
import { pushToBrowsers } from './push.ts'
import {
  codeLetter,
  dataOf,
  type Letter,
  letterOf,
  type NotificationBody,
  pushedText,
  testLetter,
} from './text.ts'
import type { Ways } from './ways.ts'

export type NotificationSenderDeps = {
  store: Pick<LogStore, 'notifications' | 'channels' | 'inbox' | 'accounts' | 'push'>
  ways: Ways
  sealing: Sealing
  redact: Redact
  publicUrl: string | null
  /** Epoch milliseconds. */
  now: () => number
  /** In [0, 1), for jitter. */
  random: () => number
  report: (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void
}

/** Both are documented in `docs/notifications.md`. */
export const MAX_ATTEMPTS = 8
const MAX_PER_HOUR = 30
const HOUR_MS = 60 * 60_000
const FIRST_MS = 10_000
const MAX_BACKOFF_MS = 2 * HOUR_MS

/** Delay before the next attempt: 10 s, 30 s, 90 s, … up to two hours, ± 25 %. */
export const notificationBackoffMs = (attempts: number, random: number): number =>
  Math.round(Math.min(MAX_BACKOFF_MS, FIRST_MS * 3 ** (attempts - 1)) * (0.75 + random / 2))

/** A resolved notification, or why it is not sent. */
type Ready = { send: () => Promise<void> } | { withdrawn: string } | { dead: string }

export async function sendNotification(
  deps: NotificationSenderDeps,
  notice: InboxNotification,
  epoch: number,
): Promise<void> {
  const { store, now, random, report } = deps
  const { notifications } = store
  const settle = (settled: Parameters<typeof notifications.settle>[1]) =>
    notifications.settle(notice, settled, epoch)
  const ready = await prepare(deps, notice)
  if ('withdrawn' in ready) return void (await settle({ state: 'withdrawn', error: ready.withdrawn }))
  if ('dead' in ready) return void (await settle({ state: 'dead', error: ready.dead }))
  // Reached without a recorded failure if the process died during every attempt.
  if (notice.attempts >= MAX_ATTEMPTS)
    return void (await settle({
      state: 'dead',
      error: notice.error ?? 'delivery is unknown',
    }))
  const { count, oldest } = await notifications.sent(notice.user_id, notice.way, HOUR_MS)
  if (count >= MAX_PER_HOUR)
    return void (await settle({
      state: 'due',
      next_at: (oldest ?? now()) + HOUR_MS,
      error: `limit of ${MAX_PER_HOUR} per hour reached`,
    }))
  if (!(await notifications.begin(notice, epoch))) return
  try {
    await ready.send()
  } catch (error) {
    // Any error counts as an attempt, and the next one is delayed.
    const { failure, message, afterMs } =
      error instanceof SendFailed
        ? error
        : new SendFailed('unknown', 'the attempt failed with an internal error')
    const attempts = notice.attempts + 1
    const isOver = attempts >= MAX_ATTEMPTS || failure === 'permanent' || failure === 'gone'
    report('warn', 'notification not delivered', {
      notice: notice.id,
      way: notice.way,
      error: error instanceof SendFailed ? message : String(error),
    })
    await settle({
      state: isOver ? 'dead' : 'due',
      next_at: now() + (afterMs ?? notificationBackoffMs(attempts, random())),
      error: message,
    })
    return
  }
  await settle({ state: 'sent' })
}

async function prepare(deps: NotificationSenderDeps, notice: InboxNotification): Promise<Ready> {
  const { store } = deps
  const settings = await store.notifications.settings(notice.user_id)
  const user = await store.accounts.getUser(notice.user_id)
  if (settings === null || user === null || user.disabled_at !== null)
    return { withdrawn: 'the account was deleted or disabled' }
  if (notice.about.startsWith('code:')) return prepareCode(deps, notice, settings)
  if (!(await isMethodOn(store, user.id, settings, notice.way)))
    return { withdrawn: `the ${notice.way} was turned off` }
  if (isRequested(notice.about))
    return address(deps, notice, settings, {
      body: { type: 'notice.test', timestamp: new Date(notice.created_at).toISOString(), data: {} },
      letter: testLetter,
    })
  const item = await store.inbox.get(notice.about)
  const { id, org_id, admin, name, email } = user
  // The user may no longer access the item.
  if (item === null || !mayAccess({ kind: 'user', id, org_id, admin, name, email }, item))
    return { withdrawn: 'the user has no access to the item' }
  if (item.status !== 'pending') return { withdrawn: 'answered before it was sent' }
  // Redacts again: a rule may be newer than the stored event.
  const data = JSON.parse(deps.redact(JSON.stringify(dataOf(shownItem(item), deps.publicUrl)))) as ReturnType<
    typeof dataOf
  >
  return address(deps, notice, settings, {
    body: { type: 'inbox.item_raised', timestamp: item.created_at, data },
    letter: letterOf(data, deps.publicUrl),
  })
}

function prepareCode(
  { ways: { mail }, sealing }: NotificationSenderDeps,
  { id }: InboxNotification,
  settings: NotificationSettings,
): Ready {
  const code = openNotificationCode(sealing, settings)
  const to = settings.mail_address
  if (code === null || to === null) return { withdrawn: 'replaced by a newer code, or no longer needed' }
  return mail === null ? NO_MAIL : { send: () => mail(id, to, codeLetter(code)) }
}

const NO_MAIL: Ready = { dead: 'email is not configured on this server' }

function address(
  deps: NotificationSenderDeps,
  { id, user_id, way, about }: InboxNotification,
  settings: NotificationSettings,
  { body, letter }: { body: NotificationBody; letter: Letter },
): Ready {
  const { ways, sealing } = deps
  if (way === 'push') {
    const person = { user_id, org_id: settings.org_id }
    return { send: () => pushToBrowsers(deps, person, about, pushedText(body)) }
  }
  if (way === 'mail') {
    const { mail } = ways
    const to = settings.mail_address
    return mail === null || to === null ? NO_MAIL : { send: () => mail(id, to, letter) }
  }
  const secret = openNotificationSecret(sealing, settings)
  const url = settings.webhook_url
  if (secret === null || url === null)
    return {
      dead: 'the secret was encrypted with a different key (CAIRN_SECRETS_KEY): set up the webhook again',
    }
  return { send: () => ways.call(id, { url, secret }, body) }
}
