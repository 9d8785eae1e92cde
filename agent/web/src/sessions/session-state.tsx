/** The state of a session as a shape and a word. */
import { type Session, type SessionState, waitsFor } from '@cairn/protocol'
import { Status, StatusMark } from '../ui/status.tsx'
import { sessionsWords } from '../words/sessions.ts'

type ShownState = Pick<Session, 'state' | 'status' | 'open_children'>

/** A session with neither an event nor a title has nothing to show. */
export const hasContent = ({ title, last_event_id }: Pick<Session, 'title' | 'last_event_id'>): boolean =>
  title !== null || last_event_id > 0

export const STATE_WORDS: Record<SessionState, string> = sessionsWords.states
const TITLE_WORDS: Partial<Record<SessionState | 'archived', string>> = sessionsWords.titleMarks

export function stateWord(session: ShownState): string {
  if (session.status === 'archived') return sessionsWords.archived
  const workers = waitsFor(session)
  return workers > 0 ? sessionsWords.runningWorkers(workers) : STATE_WORDS[session.state]
}

/** A session whose turn has ended is running while its workers are. */
export const shownState = (session: ShownState): SessionState | 'archived' =>
  session.status === 'archived' ? 'archived' : waitsFor(session) > 0 ? 'running' : session.state

/** A prefix of the page title that shows a state worth attention in another tab; otherwise empty. */
export const titleMark = (session: ShownState): string => {
  const word = TITLE_WORDS[shownState(session)]
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

export const StateMark = ({ session }: { session: ShownState }) => (
  <StatusMark kind={shownState(session)} word={stateWord(session)} />
)

/** The state as shape and word. A page that lost its connection adds that it may be outdated. */
export function StateStatus({ session, note = '' }: { session: ShownState; note?: string }) {
  return <Status kind={shownState(session)} word={`${stateWord(session)}${note}`} isPill />
}

/** The state of a session that waits for a person; nothing for the others. */
export const NeedsStatus = ({ session }: { session: Pick<Session, 'state'> }) =>
  session.state.startsWith('needs_') && (
    <Status kind={session.state} word={STATE_WORDS[session.state]} testId="needs-badge" />
  )
