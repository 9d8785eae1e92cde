/** The choice to be notified; loaded when somebody makes it. */
import { NOTICES_KEY, wantsNotices } from './notices.ts'

/** Turns notifications on, after the browser has asked, or off. Whether they are on now. */
export async function toggleNotices(): Promise<boolean> {
  if (wantsNotices()) {
    localStorage.removeItem(NOTICES_KEY)
    return false
  }
  if ((await Notification.requestPermission()) !== 'granted') return false
  localStorage.setItem(NOTICES_KEY, 'on')
  return true
}
