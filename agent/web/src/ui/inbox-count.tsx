/** The number of items of the inbox that wait for a person, in the navigation and on the way back to it. */
import { useQuery } from '@tanstack/react-query'
import { inboxQuery, needsAnswer } from '../queries.ts'
import { shellWords } from '../words/shell.ts'

/** Items that wait for a person. News is not counted. */
export function useInboxCount(): number {
  const { data = [] } = useQuery(inboxQuery('pending'))
  return data.filter(needsAnswer).length
}

export function InboxCount({ testId }: { testId?: string }) {
  const count = useInboxCount()
  if (count === 0) return null
  return (
    <>
      <span className="visually-hidden">{shellWords.inboxCount}</span>
      <span className="badge count" data-testid={testId}>
        {count > 99 ? '99+' : count}
      </span>
    </>
  )
}
