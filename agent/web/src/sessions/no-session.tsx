/** What stands beside the list while no session is chosen. */
import { CairnMark } from '../ui/icons.tsx'

export function NoSession() {
  return (
    <div className="empty no-session">
      <CairnMark />
      <h2>Choose a session, or start one</h2>
      <p>Every step of a session is kept in its log: read it as a chat, or event by event.</p>
    </div>
  )
}
