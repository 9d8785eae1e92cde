/** Whether this browser notifies its person: off until they ask for it, and only where the browser agrees. */
const KEY = 'cairn-notices'

export const canNotify = (): boolean => 'Notification' in window

export const wantsNotices = (): boolean =>
  canNotify() && Notification.permission === 'granted' && localStorage.getItem(KEY) === 'on'

/** Turns notifications on, after the browser has asked, or off. Whether they are on now. */
export async function toggleNotices(): Promise<boolean> {
  if (wantsNotices()) {
    localStorage.removeItem(KEY)
    return false
  }
  if ((await Notification.requestPermission()) !== 'granted') return false
  localStorage.setItem(KEY, 'on')
  return true
}
