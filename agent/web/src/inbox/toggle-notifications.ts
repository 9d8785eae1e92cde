/** Turns browser notifications on and off; loaded on first use. */
import { NOTIFICATIONS_KEY, wantsNotifications } from './desktop-notifications.ts'

/** Turning them on asks for the browser's permission. Returns whether they are on. */
export async function toggleNotifications(): Promise<boolean> {
  if (wantsNotifications()) {
    localStorage.removeItem(NOTIFICATIONS_KEY)
    return false
  }
  if ((await Notification.requestPermission()) !== 'granted') return false
  localStorage.setItem(NOTIFICATIONS_KEY, 'on')
  return true
}
