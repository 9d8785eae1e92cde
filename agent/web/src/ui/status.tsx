/**
 * A state as a shape and a word: ring running, diamond needs you, square failed, disc done, circle idle,
 * thick circle paused. Colour is never the only sign.
 */
import type { SessionState } from '@cairn/protocol'
import './status.css'

export type StatusKind = SessionState | 'waiting' | 'archived'

type Props = { kind: StatusKind; word: string; isPill?: boolean; testId?: string }

/** Words are in sentence case, however they are written elsewhere. */
const sentence = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

export const Status = ({ kind, word, isPill = false, testId }: Props) => (
  <span className="status" data-state={kind} data-pill={isPill || undefined} data-testid={testId}>
    <StatusShape kind={kind} />
    <span>{sentence(word)}</span>
  </span>
)

/** The shape beside a word that names the state. */
const StatusShape = ({ kind }: { kind: StatusKind }) => (
  <span className="dot" data-state={kind} aria-hidden="true" />
)

/** The shape alone; the word is its accessible name and its tooltip. */
export const StatusMark = ({ kind, word }: { kind: StatusKind; word: string }) => (
  <span className="dot" data-state={kind} role="img" aria-label={word} title={word} />
)
