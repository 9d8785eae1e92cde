/**
 * What an event of the log means for a chat client, independent of any API. Each API maps these changes to
 * its own frames, so deltas, retries, approvals and questions are interpreted in one place.
 */
import type { Attachment, EventData, EventId, Image, Question, Todo } from '@cairn/protocol'

/** A message of a person or a program. */
export type Said = {
  id: EventId
  content: string
  metadata: Record<string, unknown>
  images: readonly Image[]
  attachments: readonly Attachment[]
}

export type Usage = {
  input_tokens: number
  output_tokens: number
  reasoning_tokens: number
  cache_read_tokens: number
  cost_usd: number
}

/** What an exchange still waits for when it comes to rest: ids of events. */
export type StillOpen = { approvals: readonly EventId[]; asks: readonly EventId[] }

/** Why an exchange came to rest. `waits`: a person must answer before the turn continues. */
export type End =
  | { reason: 'completed' | 'budget_exhausted' | 'tool_loop' | 'stopped' | 'paused' | 'waits' }
  | {
      reason: 'failed'
      category: EventData<'session.fail'>['error_category']
      error: string
      retryable: boolean
    }

/** Start, delta and end of one text. `part` identifies the text: the event of its llm.request. */
type Text<K extends 'text' | 'reasoning'> =
  | { kind: K; phase: 'start' | 'end'; part: EventId }
  | { kind: K; phase: 'delta'; part: EventId; text: string }

export type Change =
  | { kind: 'begun'; message: Said }
  | { kind: 'steered'; message: Said }
  | { kind: 'step'; request: EventId; model: string }
  | Text<'text'>
  | Text<'reasoning'>
  /** Discard what this model call has shown: it is repeated. */
  | { kind: 'reset'; part: EventId }
  | { kind: 'call'; call: string; name: string; input: Record<string, unknown>; waits: boolean }
  | { kind: 'result'; call: string; name: string; content: string; failed: boolean }
  | {
      kind: 'gate'
      gate: EventId
      call: string
      name: string
      input: Record<string, unknown>
      reason: string
      shown_hash: string | null
      redactions: number
    }
  | { kind: 'decided'; gate: EventId; call: string; approved: boolean; reason: string | null }
  | {
      kind: 'asked'
      ask: EventId
      call: string
      question: { questions: readonly Question[]; context: string | null } | null
      action: { title: string; instructions: string; action_type: string; target: string | null } | null
    }
  | { kind: 'answered'; ask: EventId; call: string; output: Record<string, unknown> }
  | { kind: 'child'; worker: string; state: 'running' | 'complete' | 'failed'; text: string }
  | ({ kind: 'note' } & Note)
  /** `total` counts the whole exchange so far. */
  | { kind: 'usage'; total: Usage }
  | { kind: 'ended'; end: End; open: StillOpen }

type Note =
  | { topic: 'plan'; todos: readonly Todo[] }
  | { topic: 'artifact'; artifact_id: string; name: string; artifact_kind: string; version: number }
  | { topic: 'compacted'; messages: number }
  | { topic: 'title'; title: string }
  | { topic: 'verdict'; of: 'goal' | 'mission'; result: string; explanation: string }

export type ChangeKind = Change['kind']

/**
 * The place of a frame in the log. `index` orders the frames of one event and depends on nothing but the kind
 * of the frame, so a position stays valid when deltas are pruned.
 */
export type Position = number
const FRAMES_PER_EVENT = 1024
export const positionOf = (event: EventId, index: number): Position => event * FRAMES_PER_EVENT + index
export const eventOf = (position: Position): EventId => Math.floor(position / FRAMES_PER_EVENT)
