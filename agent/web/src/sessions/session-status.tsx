/** How a session stands, as dot, word and badge. Colour is never the only sign. */
import type { Session, SessionStatus } from '@cairn/protocol'

const WORDS: Record<SessionStatus, string> = {
  active: 'Active',
  paused: 'Paused',
  completed: 'Completed',
  failed: 'Failed',
  archived: 'Archived',
}
const WAITING: Record<NonNullable<Session['waiting_on']>, string> = {
  question: 'Question',
  approval: 'Approval',
  action: 'Action',
}

export const statusWord = (status: SessionStatus): string => WORDS[status]

export function StatusDot({ status, isRunning }: { status: SessionStatus; isRunning: boolean }) {
  return (
    <span
      className="dot"
      data-status={status}
      data-running={isRunning || undefined}
      role="img"
      aria-label={isRunning ? 'Running' : WORDS[status]}
      title={isRunning ? 'Running' : WORDS[status]}
    />
  )
}

export function WaitingBadge({ on }: { on: Session['waiting_on'] }) {
  return on === null ? null : (
    <span className="badge waiting" data-testid="waiting-badge">
      {WAITING[on]}
    </span>
  )
}
