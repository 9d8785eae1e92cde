/** A link from a request of the agent to the browser in which the person carries it out. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { InboxItem } from '@cairn/protocol'
import { client, isMissing } from '../api.ts'
import { browserWords } from '../words/browser.ts'

/** The action types of `request_user_action` that are carried out in the browser. */
const IN_BROWSER = new Set<unknown>(['login', 'verification', 'browser'])

/** Renders nothing for other items, and nothing while the session has no browser. */
export function BrowserLink({ item }: { item: InboxItem }) {
  const isInBrowser = item.kind === 'action_required' && IN_BROWSER.has(item.payload['action_type'])
  const { data: isOpen } = useQuery({
    queryKey: ['browser', item.session_id, 'open'],
    queryFn: () => hasBrowser(item.session_id),
    enabled: isInBrowser,
    retry: false,
  })
  if (!isInBrowser || isOpen !== true) return null
  return (
    <Link
      className="button"
      to="/sessions/$sessionId/browser"
      params={{ sessionId: item.session_id }}
      data-testid="open-browser"
    >
      {browserWords.openAgents}
    </Link>
  )
}

async function hasBrowser(id: string): Promise<boolean> {
  try {
    await client.call('getBrowser', { params: { id } })
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}
