/** Browser notifications, one for each item; loaded only when the person has turned them on. */
import { type InboxItem, visibleText } from '@cairn/protocol'
import { generalWords } from '../words/general.ts'

function showNotices(items: readonly InboxItem[]): void {
  for (const { id, title, session_id } of items) {
    const notice = new Notification(generalWords.product, { body: visibleText(title), tag: id })
    notice.addEventListener('click', () => {
      window.focus()
      window.location.assign(`/sessions/${encodeURIComponent(session_id)}`)
    })
  }
}

let known: Set<string> | null = null

/** Notifies about items that started to wait since the last call; the first call only records them. */
export function showFresh(waiting: readonly InboxItem[]): void {
  const fresh = known === null ? [] : waiting.filter(({ id }) => known?.has(id) !== true)
  known = new Set(waiting.map(({ id }) => id))
  if (document.visibilityState !== 'visible') showNotices(fresh)
}
