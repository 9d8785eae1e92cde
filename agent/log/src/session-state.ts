/**
 * What a session does or waits for, in one word (contract 4.10): what every list, head, command and exit code
 * says of it. A pure function of its row, so it is the same on every store and in every process.
 *
 *   archived, paused, failed   as the status says, whatever else is open
 *   a question is open         needs_answer: nothing goes on without the answer
 *   an action is open          needs_action, while nothing asked for work since; said since, the turn goes on
 *                              without it
 *   work                       running: a turn is due, at work, or being rolled back
 *   an approval is open        needs_approval: a gate suspends nothing, so it shows once the turn is over
 *   completed                  done
 *   else                       idle: never used, or stopped
 *
 * Whether a worker holds the lease is no input of its own. Work is `wake_id > cursor`, and the cursor reaches
 * wake_id in the very commit that gives the lease back, so a worker at work has work. A lease alone would
 * flicker: between a message and its claim, and while a session that is done is looked back over.
 */
import type { Session, SessionState, SessionStatus } from '@cairn/protocol'

export type StateFacts = {
  status: SessionStatus
  waiting_on: Session['waiting_on']
  /** Something asks for a worker: `hasWork` of the row. */
  has_work: boolean
  /** The last event that asks for work, and the last that suspends the turn for a person. */
  wake_id: number
  asked_id: number
}

export function sessionState({ status, waiting_on, has_work, wake_id, asked_id }: StateFacts): SessionState {
  if (status === 'archived') return 'done'
  if (status === 'paused' || status === 'failed') return status
  if (waiting_on === 'question') return 'needs_answer'
  if (waiting_on === 'action' && asked_id > wake_id) return 'needs_action'
  if (has_work) return 'running'
  if (waiting_on !== null) return waiting_on === 'action' ? 'needs_action' : 'needs_approval'
  return status === 'completed' ? 'done' : 'idle'
}
