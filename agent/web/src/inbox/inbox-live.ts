/** Reads the inbox lists again on each change in the stream. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { followChanges } from '../live/live.ts'
import { inboxQuery, needsAnswer } from '../queries.ts'
import { followWhileVisible } from '../ui/follow-while-visible.ts'
import { sayError } from '../ui/toasts.tsx'
import { wantsNotifications } from './desktop-notifications.ts'

export function useInboxLive(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const start = () =>
      followChanges({
        onItems: changes => {
          if (changes.some(({ type }) => type !== 'session'))
            void queries.invalidateQueries({ queryKey: ['inbox'] })
        },
        onFailed: sayError,
      })
    return followWhileVisible(start, wantsNotifications)
  }, [queries])
}

/** The number of items that wait for an answer or have not been read. */
export function useInboxCount(): number {
  const { data = [] } = useQuery(inboxQuery('pending'))
  return data.filter(item => needsAnswer(item) || item.read_at === null).length
}
