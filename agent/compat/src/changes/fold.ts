/**
 * The log of a session as changes, event by event. `foldEvent` reads and updates plain data, so a fold that
 * begins at an exchange needs nothing else, whichever process runs it.
 *
 * An exchange begins with a message of a person while nothing runs, and contains everything up to the next
 * one: the turn, what a later decision or answer starts, and messages that arrive while it runs.
 *
 * Approvals: a gated call gets a result at once and the turn continues; the decision starts another turn,
 * which repeats the call (contract 7.8, 10.5). Clients expect that the call itself waits. So the result of
 * the gated call is left out, the repeated call is left out, and its result becomes that of the gated call.
 */
import { type EventOf, type EventType, isEventType, type SessionEvent } from '@cairn/protocol'
import { isSaid, passBoundary } from './boundary.ts'
import { onDelta, onRequest, onResponse, onThinking } from './answer.ts'
import { closeCalls, onCall, onDecision, onGate, onResult } from './calls.ts'
import type { Change, End, Said } from './change.ts'
import { closeAsks, onAction, onActionDone, onAnswer, onQuestion } from './persons.ts'
import { emptyFold, type FoldState, stillOpen } from './state.ts'

type Reader<T extends EventType> = (state: FoldState, event: EventOf<T>) => Change[]

/** The types that mean something to a chat client; all others are left out. */
const READERS: { [T in EventType]?: Reader<T> } = {
  'user.message': onMessage,
  'llm.request': onRequest,
  'llm.delta': onDelta,
  'llm.thinking': onThinking,
  'llm.response': onResponse,
  'ask_user_question.response': onAnswer,
  'tool.call': onCall,
  'tool.result': onResult,
  'inbox.governance_gate': onGate,
  'inbox.input_required': onQuestion,
  'inbox.action_required': onAction,
  'todo.updated': (_, { data: { todos } }) => [{ kind: 'note', topic: 'plan', todos }],
  'artifact.created': (_, { data: { artifact_id, name, kind, version } }) => [
    { kind: 'note', topic: 'artifact', artifact_id, name, artifact_kind: kind, version },
  ],
  'context.compact': (_, { data }) => [
    { kind: 'note', topic: 'compacted', messages: data.original_message_count },
  ],
  'session.title_updated': (_, { data: { title } }) => [{ kind: 'note', topic: 'title', title }],
  'span.outcome_evaluation_end': (_, { data: { result, explanation } }) => [
    { kind: 'note', topic: 'verdict', of: 'goal', result, explanation },
  ],
  'mission.evaluation.end': (_, { data: { result, explanation } }) => [
    { kind: 'note', topic: 'verdict', of: 'mission', result, explanation },
  ],
  'worker.spawned': (_, { data: { worker_id, goal } }) => [
    { kind: 'child', worker: worker_id, state: 'running', text: goal },
  ],
  'worker.complete': (_, { data: { worker_id, result } }) => [
    { kind: 'child', worker: worker_id, state: 'complete', text: result },
  ],
  'worker.failed': (_, { data: { worker_id, error } }) => [
    { kind: 'child', worker: worker_id, state: 'failed', text: error },
  ],
  'session.complete': (state, { data: { reason } }) => end(state, { reason }),
  'session.stopped': state => end(state, { reason: 'stopped' }),
  'session.pause': state => end(state, { reason: 'paused' }),
  'session.fail': (state, { data: { error_category, error, retryable } }) =>
    end(state, { reason: 'failed', category: error_category, error, retryable }),
}

/** The types that the fold reads. */
export const FOLDED_TYPES: readonly EventType[] = Object.keys(READERS).filter(isEventType)

/** The changes of one event; `state` is updated. Events before the first exchange change nothing. */
export function foldEvent(state: FoldState, event: SessionEvent): Change[] {
  if (!isEventType(event.type)) return []
  if (passBoundary(state.boundary, event)) {
    const { boundary } = state
    Object.assign(state, emptyFold(), { boundary, exchange: event.id, running: true })
    return [{ kind: 'begun', message: saidOf(event) }]
  }
  const read = READERS[event.type] as Reader<EventType> | undefined
  return read === undefined || state.exchange === null ? [] : read(state, event as never)
}

function onMessage(state: FoldState, event: EventOf<'user.message'>): Change[] {
  const { synthetic } = event.data
  if (synthetic === 'governance_decision') return onDecision(state, event)
  if (synthetic === 'action_completed') return onActionDone(state, event)
  if (!isSaid(event)) return []
  state.running = true
  return [{ kind: 'steered', message: saidOf(event) }]
}

export const saidOf = ({ id, data }: EventOf<'user.message'>): Said => ({
  id,
  content: data.content,
  metadata: data.metadata ?? {},
  images: data.images ?? [],
  attachments: data.attachments ?? [],
})

/** A paused turn continues with its calls and questions when it is resumed; any other end closes them. */
function end(state: FoldState, how: End): Change[] {
  const { running } = state
  state.running = false
  const closed =
    how.reason === 'paused'
      ? []
      : [...closeCalls(state), ...(how.reason === 'stopped' ? closeAsks(state, 'stopped') : [])]
  state.pending = []
  return running || closed.length > 0 ? [...closed, { kind: 'ended', end: how, open: stillOpen(state) }] : []
}
