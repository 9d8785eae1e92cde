/** Which worker raised an item, and in whose tree: both lead there. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type InboxItem, visibleText } from '@cairn/protocol'
import { sessionTitleQuery } from '../queries.ts'

export function FromWorker({ item }: { item: InboxItem }) {
  return (
    <p className="from-worker muted" data-testid="from-worker">
      from worker <SessionLink id={item.session_id} unnamed="without a title" /> of{' '}
      <SessionLink id={item.root_session_id} unnamed="an untitled session" />
    </p>
  )
}

/** Titles are a model's words, or a person's. */
function SessionLink({ id, unnamed }: { id: string; unnamed: string }) {
  const { data: title } = useQuery(sessionTitleQuery(id))
  return (
    <Link className="json-link" to="/sessions/$sessionId" params={{ sessionId: id }}>
      {typeof title === 'string' ? visibleText(title) : unnamed}
    </Link>
  )
}
