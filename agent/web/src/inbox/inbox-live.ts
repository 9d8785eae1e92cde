/** The inbox stream as a nudge: whatever changes, the lists are read again. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { client } from '../api.ts'
import { inboxQuery, needsAnswer } from '../queries.ts'
import { followWhileVisible } from '../ui/follow-while-visible.ts'
import { sayError } from '../ui/toasts.tsx'
import { wantsNotices } from './notices.ts'

export function useInboxLive(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const start = () => {
      const stop = new AbortController()
      followInbox(stop.signal, () => queries.invalidateQueries({ queryKey: ['inbox'] })).catch(
        (error: unknown) => {
          if (!stop.signal.aborted) sayError(error)
        },
      )
      return () => stop.abort()
    }
    return followWhileVisible(start, wantsNotices)
  }, [queries])
}

async function followInbox(signal: AbortSignal, onChange: () => Promise<void>) {
  for await (const changes of client.inboxStream({ signal })) if (changes.length > 0) await onChange()
}

/** Items that wait for an answer, and news nobody has read. */
export function useInboxCount(): number {
  const { data = [] } = useQuery(inboxQuery('pending'))
  return data.filter(item => needsAnswer(item) || item.read_at === null).length
}
