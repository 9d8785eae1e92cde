/** Signals waiting items to a person who looks at another tab: on the tab, and by optional notifications. */
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { inboxQuery, needsAnswer } from '../queries.ts'
import { wantsNotifications } from './desktop-notifications.ts'

/** A title with the count before it, in place of an earlier count. */
export const countedTitle = (title: string, count: number): string => {
  const bare = title.replace(/^\(\d+\+?\) /, '')
  return count === 0 ? bare : `(${count > 99 ? '99+' : count}) ${bare}`
}

/** Shows the count in the tab's title, also after another part of the page changes it, and on its icon. */
export function useTabCount(count: number): void {
  useEffect(() => {
    const mark = () => {
      const wanted = countedTitle(document.title, count)
      if (document.title !== wanted) document.title = wanted
    }
    mark()
    void navigator.setAppBadge?.(count)
    document
      .querySelector('link[rel="icon"]')
      ?.setAttribute('href', count === 0 ? '/icon.svg' : '/icon-waiting.svg')
    const watcher = new MutationObserver(mark)
    watcher.observe(document.head, { childList: true, subtree: true, characterData: true })
    return () => watcher.disconnect()
  }, [count])
}

/** Shows one notification for each item that starts to wait while the page is hidden. */
export function useNotifications(): void {
  const { data } = useQuery(inboxQuery('pending'))
  useEffect(() => {
    if (data !== undefined && wantsNotifications())
      void import('./show-notifications.ts').then(({ showFresh }) => showFresh(data.filter(needsAnswer)))
  }, [data])
}
