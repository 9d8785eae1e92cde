/** Whether this browser notifies its person: off until they ask for it, and only where the browser agrees. */
export const NOTICES_KEY = 'cairn-notices'

export const canNotify = (): boolean => 'Notification' in window

export const wantsNotices = (): boolean =>
  canNotify() && Notification.permission === 'granted' && localStorage.getItem(NOTICES_KEY) === 'on'
