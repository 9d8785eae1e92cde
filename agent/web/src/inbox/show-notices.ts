/** Notifications of the browser, one an item; loaded where a person has turned them on. */
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

/** Of those that wait, the ones that did not before; what waited when the page was opened is no news. */
export function showFresh(waiting: readonly InboxItem[]): void {
  const fresh = known === null ? [] : waiting.filter(({ id }) => known?.has(id) !== true)
  known = new Set(waiting.map(({ id }) => id))
  if (document.visibilityState !== 'visible') showNotices(fresh)
}
