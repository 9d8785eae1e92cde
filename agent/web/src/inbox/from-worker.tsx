/** Which worker raised an item, and in whose tree: both lead there. */
import type { InboxItem } from '@cairn/protocol'
import { SessionLink } from '../sessions/session-link.tsx'

export function FromWorker({ item }: { item: InboxItem }) {
  return (
    <p className="from-worker muted" data-testid="from-worker">
      from worker <SessionLink id={item.session_id} unnamed="without a title" /> of{' '}
      <SessionLink id={item.root_session_id} unnamed="an untitled session" />
    </p>
  )
}
