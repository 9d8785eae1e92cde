/** Shown beside the list while no session is selected. */
import { CairnMark } from '../ui/icons.tsx'
import { sessionsWords } from '../words/sessions.ts'

export function NoSession() {
  return (
    <div className="empty no-session">
      <CairnMark />
      <h2>{sessionsWords.welcome}</h2>
      <p>{sessionsWords.welcomeText}</p>
    </div>
  )
}
