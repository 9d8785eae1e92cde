/** Turns browser notifications on and off; loaded on first use. */
import { NOTICES_KEY, wantsNotices } from './notices.ts'

/** Turning them on asks for the browser's permission. Returns whether they are on. */
export async function toggleNotices(): Promise<boolean> {
  if (wantsNotices()) {
    localStorage.removeItem(NOTICES_KEY)
    return false
  }
  if ((await Notification.requestPermission()) !== 'granted') return false
  localStorage.setItem(NOTICES_KEY, 'on')
  return true
}
