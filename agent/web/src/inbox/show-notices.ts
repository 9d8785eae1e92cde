/** Notifications of the browser, one an item; loaded where a person has turned them on. */
import { type InboxItem, visibleText } from '@cairn/protocol'

export function showNotices(items: readonly InboxItem[]): void {
  for (const { id, title, session_id } of items) {
    const notice = new Notification('Cairn', { body: visibleText(title), tag: id })
    notice.addEventListener('click', () => {
      window.focus()
      window.location.assign(`/sessions/${encodeURIComponent(session_id)}`)
    })
  }
}
