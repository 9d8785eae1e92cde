/** Whether this browser shows notifications: off by default, and only with the browser's permission. */
export const NOTICES_KEY = 'cairn-notices'

export const canNotify = (): boolean => 'Notification' in window

export const wantsNotices = (): boolean =>
  canNotify() && Notification.permission === 'granted' && localStorage.getItem(NOTICES_KEY) === 'on'
