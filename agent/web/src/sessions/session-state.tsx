/** The state of a session as dot, word and badge. Colour is never the only sign. */
import { type Session, type SessionState, waitsFor } from '@cairn/protocol'
import { sessionsWords } from '../words/sessions.ts'

type ShownState = Pick<Session, 'state' | 'status' | 'open_children'>

export const STATE_WORDS: Record<SessionState, string> = sessionsWords.states
const NEEDS: Partial<Record<SessionState, string>> = sessionsWords.needs

export function stateWord(session: ShownState): string {
  if (session.status === 'archived') return sessionsWords.archived
  const workers = waitsFor(session)
  return workers > 0 ? sessionsWords.runningWorkers(workers) : STATE_WORDS[session.state]
}

/** A prefix of the page title that shows a state worth attention in another tab; otherwise empty. */
export const titleMark = ({ state }: Pick<Session, 'state'>): string => {
  const word =
    NEEDS[state] ??
    (state === 'running' || state === 'failed' || state === 'paused' ? STATE_WORDS[state] : undefined)
  return word === undefined ? '' : `${word} · `
}

/** Whether a turn is running or waits for a person; it can then be paused. */
export const isInTurn = ({ state, status }: Pick<Session, 'state' | 'status'>): boolean =>
  state === 'running' || (status === 'active' && (state === 'needs_answer' || state === 'needs_action'))

/**
 * The server accepts pause and stop for a turn, and for the open workers of a session whose turn has ended.
 */
export const canPause = (session: ShownState): boolean =>
  isInTurn(session) ||
  (session.open_children > 0 && session.status !== 'paused' && session.status !== 'archived')

export function StateDot({ session }: { session: ShownState }) {
  const word = stateWord(session)
  return (
    <span
      className="dot"
      data-state={session.status === 'archived' ? 'archived' : session.state}
      role="img"
      aria-label={word}
      title={word}
    />
  )
}

export function NeedsBadge({ session }: { session: Pick<Session, 'state'> }) {
  const word = NEEDS[session.state]
  return word === undefined ? null : (
    <span className="badge waiting" data-testid="needs-badge">
      {word}
    </span>
  )
}
