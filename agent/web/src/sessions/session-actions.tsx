/** Actions on a whole session, in the list and on its page. */
import { lazy } from 'react'
import type { Session } from '@cairn/protocol'
import { MoreIcon } from '../ui/icons.tsx'
import { OpenerButton } from '../ui/opener-button.tsx'
import { sessionsWords } from '../words/sessions.ts'

const SessionMenu = lazy(() => import('./session-menu.tsx'))

export const SessionActions = ({ session }: { session: Session }) => (
  <OpenerButton
    className="button quiet square session-menu"
    label={sessionsWords.actionsOf(session.title ?? sessionsWords.thisUntitled)}
    testId="session-menu"
    renderOpen={(button, close) => <SessionMenu session={session} button={button} onDone={close} />}
  >
    <MoreIcon />
  </OpenerButton>
)
