/** What waits is told to a person who looks elsewhere: on the tab, and by notifications if they want them. */
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { inboxQuery, needsAnswer } from '../queries.ts'
import { wantsNotices } from './notices.ts'

/** A count before a title; whatever count it had. */
export const countedTitle = (title: string, count: number): string => {
  const bare = title.replace(/^\(\d+\+?\) /, '')
  return count === 0 ? bare : `(${count > 99 ? '99+' : count}) ${bare}`
}

/** The count stands in the tab's title, whoever sets that, and on its icon. */
export function useTabCount(count: number): void {
  useEffect(() => {
    const mark = () => {
      const wanted = countedTitle(document.title, count)
      if (document.title !== wanted) document.title = wanted
    }
    mark()
    document
      .querySelector('link[rel="icon"]')
      ?.setAttribute('href', count === 0 ? '/icon.svg' : '/icon-waiting.svg')
    const watcher = new MutationObserver(mark)
    watcher.observe(document.head, { childList: true, subtree: true, characterData: true })
    return () => watcher.disconnect()
  }, [count])
}

/** One notification for each item that begins to wait while the page is out of sight. */
export function useNotices(): void {
  const { data } = useQuery(inboxQuery('pending'))
  useEffect(() => {
    if (data !== undefined && wantsNotices())
      void import('./show-notices.ts').then(({ showFresh }) => showFresh(data.filter(needsAnswer)))
  }, [data])
}
