/** Whether this browser shows notifications: off by default, and only with the browser's permission. */
export const NOTIFICATIONS_KEY = 'cairn-notices'

export const canNotify = (): boolean => 'Notification' in window

export const wantsNotifications = (): boolean =>
  canNotify() && Notification.permission === 'granted' && localStorage.getItem(NOTIFICATIONS_KEY) === 'on'
