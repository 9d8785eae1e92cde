/** The way from what the agent asks a person to do to the browser in which they do it. */
import { Link } from '@tanstack/react-router'
import type { InboxItem } from '@cairn/protocol'
import { browserWords } from '../words/browser.ts'

/** What `request_user_action` asks for that is done in a browser. */
const IN_BROWSER = new Set<unknown>(['login', 'verification', 'browser'])

/** Nothing for an item that asks for something else. */
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
