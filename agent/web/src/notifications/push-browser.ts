/** Web Push of this browser: its subscription at the push service, which the server must know. */
import { client } from '../api.ts'

export const canPush = (): boolean => 'serviceWorker' in navigator && 'PushManager' in window

/** As the server computes it. */
async function idOfEndpoint(endpoint: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint))
  return [...new Uint8Array(digest)]
    .map(byte => byte.toString(16).padStart(2, '0'))
    .join('')
    .slice(0, 32)
}

const subscriptionOf = async (): Promise<PushSubscription | null> => {
  const registration = await navigator.serviceWorker.getRegistration()
  return (await registration?.pushManager.getSubscription()) ?? null
}

/** The id of this browser's subscription; null: it has none. */
export async function thisBrowser(): Promise<string | null> {
  const subscription = canPush() ? await subscriptionOf() : null
  return subscription === null ? null : idOfEndpoint(subscription.endpoint)
}

/** Asks for the permission. Returns false if the person refuses it. */
export async function turnOnPush(): Promise<boolean> {
  if ((await Notification.requestPermission()) !== 'granted') return false
  const { public_key } = await client.call('getPushKey')
  const { pushManager } = await navigator.serviceWorker.ready
  // A subscription with an earlier key of the server is of no use.
  await (await pushManager.getSubscription())?.unsubscribe()
  const subscription = await pushManager.subscribe({
    // Browsers require that every message is shown.
    userVisibleOnly: true,
    applicationServerKey: public_key,
  })
  const { endpoint = '', keys } = subscription.toJSON()
  const { p256dh = '', auth = '' } = keys ?? {}
  await client.call('subscribePush', { body: { endpoint, keys: { p256dh, auth } } })
  return true
}

/** Also before a logout: the next person at this browser must not see notifications of the last one. */
export async function turnOffPush(): Promise<void> {
  const subscription = canPush() ? await subscriptionOf() : null
  if (subscription === null) return
  const browser_id = await idOfEndpoint(subscription.endpoint)
  await subscription.unsubscribe()
  await client.call('unsubscribePush', { params: { browser_id } })
}
