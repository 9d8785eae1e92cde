/**
 * Notifies people of inbox items. What is due is derived: an open item, a person who subscribed to its kind,
 * and no notification about it yet. So nothing is lost with a process, and nothing is planned twice. Of
 * several processes, the holder of the lease sends.
 */
import { type LogStore, NOTIFICATIONS } from '@cairn/log'
import { createKeyedTasks } from '../keyed-tasks.ts'
import { type NotificationSenderDeps, sendNotification } from './send-notification.ts'

const POLL_MS = 2_000
const TTL_MS = 60_000
const AT_ONCE = 100
const KEEP_MS = 30 * 24 * 60 * 60_000
const PRUNE_EVERY_MS = 60 * 60_000

export type InboxNotificationsOptions = NotificationSenderDeps & {
  store: NotificationSenderDeps['store'] & Pick<LogStore, 'inbox'>
  /** The organisation whose items trigger a pass at once; others wait for the next poll. */
  org_id: string
  holder: string
  newId: () => string
  /** Interval of the poll for missed items; tests shorten it. */
  lookMs?: number
}

export function startInboxNotifications(options: InboxNotificationsOptions): { stop(): Promise<void> } {
  const { store, holder, newId, report, lookMs = POLL_MS } = options
  const { notifications, channels } = store
  const onError = (error: unknown): void =>
    report('error', 'failed to send notifications', { error: String(error) })
  /** One at a time per person and method. */
  const sending = createKeyedTasks(onError)
  const acquire = (): Promise<number | null> => channels.acquire(NOTIFICATIONS, 'deliver', holder, TTL_MS)
  let pruneAt = 0
  let isStopped = false
  let looking: Promise<void> = Promise.resolve()
  let isAsked = false

  async function lookOnce(): Promise<void> {
    const fresh = await notifications.fresh(AT_ONCE)
    const due = await notifications.due(AT_ONCE)
    // Without work the lease is not acquired, because that would be a write.
    if (isStopped || (fresh.length === 0 && due.length === 0)) return
    if ((await acquire()) === null) return
    for (const { item_id, user_id, way, due_at } of fresh)
      await notifications.plan({ id: newId(), user_id, way, about: item_id, next_at: due_at })
    for (const notice of fresh.length === 0 ? due : await notifications.due(AT_ONCE))
      sending.begin(`${notice.user_id} ${notice.way}`, async () => {
        const epoch = await acquire()
        if (epoch === null || isStopped) return
        await sendNotification(options, notice, epoch)
        look()
      })
    if (performance.now() < pruneAt) return
    pruneAt = performance.now() + PRUNE_EVERY_MS
    await notifications.prune(KEEP_MS)
  }
  /** Merges requests for a pass while one is running. */
  function look(): void {
    if (isAsked || isStopped) return
    isAsked = true
    looking = looking
      .then(() => {
        isAsked = false
        return lookOnce()
      })
      .catch(onError)
  }
  const unwatch = store.inbox.watch(options.org_id, look)
  const timer = setInterval(look, lookMs)
  timer.unref()
  look()
  return {
    async stop() {
      isStopped = true
      unwatch()
      clearInterval(timer)
      await looking
      await sending.idle()
      await channels.release(NOTIFICATIONS, 'deliver', holder).catch(onError)
    },
  }
}
