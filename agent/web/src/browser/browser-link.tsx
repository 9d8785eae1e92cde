/** A link from a request of the agent to the browser in which the person carries it out. */
import { Link } from '@tanstack/react-router'
import type { InboxItem } from '@cairn/protocol'
import { browserWords } from '../words/browser.ts'

/** The action types of `request_user_action` that are carried out in the browser. */
const IN_BROWSER = new Set<unknown>(['login', 'verification', 'browser'])

/** Renders nothing for other items. */
export function BrowserLink({ item }: { item: InboxItem }) {
  if (item.kind !== 'action_required' || !IN_BROWSER.has(item.payload['action_type'])) return null
  return (
    <Link
      className="button"
      to="/sessions/$sessionId/browser"
      params={{ sessionId: item.session_id }}
      data-testid="open-browser"
    >
      {browserWords.open}
    </Link>
  )
}
