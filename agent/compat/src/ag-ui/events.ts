/**
 * Changes as events of the AG-UI protocol. A run begins with a message, a decision or an answer, and ends
 * when the exchange is at rest. Ids of messages and calls come from the log, so a run that is read again has
 * the same ones.
 */
import type { EventId, SessionEvent, Todo } from '@cairn/protocol'
import type { Change, ChangeKind, End, Said, StillOpen } from '../changes/change.ts'
import type { Changed } from '../changes/exchange.ts'
import { compatOrigin } from '../request/origin.ts'
import { approvalInterrupt, askInterrupt, type Interrupt } from './interrupts.ts'

export type AgUiEvent = { type: string } & Record<string, unknown>
type Of<K extends ChangeKind> = Extract<Change, { kind: K }>
type TextKind = 'text' | 'reasoning'

/** What a page may show beside the messages. */
export type State = {
  plan: readonly Todo[]
  title: string | null
  artifacts: readonly { artifact_id: string; name: string; kind: string; version: number }[]
  goal: { result: string; explanation: string } | null
}
const emptyState = (): State => ({ plan: [], title: null, artifacts: [], goal: null })

/** The client's own id of a message, or one derived from its event. */
export const userMessageId = ({ id, metadata }: Pick<Said, 'id' | 'metadata'>): string =>
  compatOrigin(metadata).message_id ?? `m${id}`

/** Reads one exchange after another. Steps, open texts and workers are those of the current run. */
export class RunWriter {
  state: State
  /** What the exchange waits for. */
  readonly #waiting = new Map<EventId, Interrupt>()
  /** Ids of calls on the wire: those of the log may repeat in another turn. */
  readonly #calls = new Map<string, string>()
  #request: EventId = 0
  #step: string | null = null
  #open: Record<TextKind, string | null> = { text: null, reasoning: null }
  readonly #workers = new Set<string>()
  #event: SessionEvent | null = null

  constructor(state: State = emptyState()) {
    this.state = state
  }

  /** A run begins: what the events before it left open is not of it. */
  begin(): void {
    this.#step = null
    this.#open = { text: null, reasoning: null }
    this.#workers.clear()
  }

  take({ event, changes }: Pick<Changed, 'event' | 'changes'>): AgUiEvent[] {
    this.#event = event
    if (event.type === 'llm.request') this.#request = event.id
    return changes.flatMap(change => this.#eventsOf(change))
  }

  /** The last events of a run. */
  finish(place: { threadId: string; runId: string }, end: End, open: StillOpen): AgUiEvent[] {
    const closed = this.#closeAll()
    if (end.reason === 'failed')
      return [...closed, { type: 'RUN_ERROR', message: end.error, code: end.category }]
    const interrupts = [...open.approvals, ...open.asks].flatMap(id => this.#waiting.get(id) ?? [])
    const outcome =
      end.reason === 'stopped'
        ? { type: 'cancelled' }
        : interrupts.length > 0
          ? { type: 'interrupt', interrupts }
          : { type: 'success' }
    const isShort = end.reason !== 'completed' && outcome.type === 'success'
    const result = isShort ? { result: { reason: end.reason } } : {}
    return [...closed, { type: 'RUN_FINISHED', ...place, outcome, ...result }]
  }

  #eventsOf(change: Change): AgUiEvent[] {
    switch (change.kind) {
      case 'begun':
        this.#waiting.clear()
        this.#calls.clear()
        return this.#closeAll()
      case 'steered':
        return steeredEvents(change.message)
      case 'step':
        return this.#stepEvents(change)
      case 'text':
      case 'reasoning':
        return this.#textEvents(change)
      case 'reset':
        return this.#resetEvents()
      case 'call':
        return this.#callEvents(change)
      case 'result':
        return this.#resultEvents(change.call, change.content)
      case 'gate':
        this.#waiting.set(change.gate, approvalInterrupt(change, this.#callId(change.call)))
        return []
      case 'decided':
        return this.#decidedEvents(change)
      case 'asked':
        return this.#askedEvents(change)
      case 'answered':
        this.#waiting.delete(change.ask)
        return this.#resultEvents(change.call, JSON.stringify(change.output))
      case 'child':
        return this.#childEvents(change)
      case 'note':
        return this.#noteEvents(change)
      case 'usage':
      case 'ended':
        return []
    }
  }

  #stepEvents({ request }: Of<'step'>): AgUiEvent[] {
    const ended = this.#endStep()
    this.#step = `iteration ${request}`
    return [...ended, { type: 'STEP_STARTED', stepName: this.#step }]
  }

  #endStep(): AgUiEvent[] {
    const stepName = this.#step
    this.#step = null
    return stepName === null ? [] : [{ type: 'STEP_FINISHED', stepName }]
  }

  #textEvents(change: Of<TextKind>): AgUiEvent[] {
    const { kind } = change
    if (change.phase === 'end') return this.#close(kind)
    const id = this.#open[kind]
    // A run may begin in the middle of a text only if its log lacks the beginning.
    if (id !== null && change.phase === 'delta') return [contentEvent(kind, id, change.text)]
    const messageId = (this.#open[kind] = `${kind === 'text' ? 'm' : 'r'}${this.#request || change.part}`)
    const started: AgUiEvent[] =
      kind === 'text'
        ? [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }]
        : [
            { type: 'REASONING_START', messageId },
            { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
          ]
    return change.phase === 'delta' ? [...started, contentEvent(kind, messageId, change.text)] : started
  }

  #close(kind: TextKind): AgUiEvent[] {
    const messageId = this.#open[kind]
    if (messageId === null) return []
    this.#open[kind] = null
    return kind === 'text'
      ? [{ type: 'TEXT_MESSAGE_END', messageId }]
      : [
          { type: 'REASONING_MESSAGE_END', messageId },
          { type: 'REASONING_END', messageId },
        ]
  }

  #closeAll(): AgUiEvent[] {
    return [...this.#close('reasoning'), ...this.#close('text'), ...this.#endStep()]
  }

  /** The texts of the attempt are void. The marker is replaced by a snapshot without them. */
  #resetEvents(): AgUiEvent[] {
    const ids = [this.#open.text, this.#open.reasoning].filter(id => id !== null)
    return [...this.#close('reasoning'), ...this.#close('text'), supersededEvent(ids)]
  }

  #callId(call: string): string {
    return this.#calls.get(call) ?? call
  }

  #showCall(call: string, name: string, input: unknown): AgUiEvent[] {
    const toolCallId = `call_${this.#event?.id ?? 0}`
    this.#calls.set(call, toolCallId)
    return [
      { type: 'TOOL_CALL_START', toolCallId, toolCallName: name },
      { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(input) },
      { type: 'TOOL_CALL_END', toolCallId },
    ]
  }

  #callEvents({ call, name, input }: Of<'call'>): AgUiEvent[] {
    return this.#showCall(call, name, input)
  }

  #resultEvents(call: string, content: string): AgUiEvent[] {
    const toolCallId = this.#callId(call)
    return [
      { type: 'TOOL_CALL_RESULT', messageId: `result_${toolCallId}`, toolCallId, content, role: 'tool' },
    ]
  }

  #decidedEvents({ gate, call, approved }: Of<'decided'>): AgUiEvent[] {
    this.#waiting.delete(gate)
    const decided = { interruptId: `apr_${gate}`, approved }
    const custom = { type: 'CUSTOM', name: 'cairn.decided', value: decided }
    return approved ? [custom] : [custom, ...this.#resultEvents(call, JSON.stringify({ error: 'rejected' }))]
  }

  #askedEvents(change: Of<'asked'>): AgUiEvent[] {
    const name = change.question === null ? 'request_user_action' : 'ask_user_question'
    const shown = this.#showCall(change.call, name, change.question ?? change.action)
    this.#waiting.set(change.ask, askInterrupt(change, this.#callId(change.call)))
    return shown
  }

  /** A worker may outlive the run that it began in; then its end is not of this run. */
  #childEvents({ worker, state, text }: Of<'child'>): AgUiEvent[] {
    const subagentRunId = worker
    if (state === 'running') {
      this.#workers.add(worker)
      const name = this.#event?.type === 'worker.spawned' ? this.#event.data.agent : 'worker'
      return [{ type: 'SUBAGENT_STARTED', subagentRunId, name, description: text }]
    }
    if (!this.#workers.delete(worker)) return []
    return state === 'complete'
      ? [{ type: 'SUBAGENT_FINISHED', subagentRunId, result: text, outcome: { type: 'success' } }]
      : [{ type: 'SUBAGENT_ERROR', subagentRunId, message: text }]
  }

  #noteEvents(note: Of<'note'>): AgUiEvent[] {
    switch (note.topic) {
      case 'plan':
        return this.#set('plan', note.todos)
      case 'title':
        return this.#set('title', note.title)
      case 'artifact': {
        const { artifact_id, name, artifact_kind: kind, version } = note
        const others = this.state.artifacts.filter(each => each.artifact_id !== artifact_id)
        return this.#set('artifacts', [...others, { artifact_id, name, kind, version }])
      }
      case 'verdict':
        return this.#set('goal', { result: note.result, explanation: note.explanation })
      case 'compacted':
        return [{ type: 'CUSTOM', name: 'cairn.compacted', value: { messages: note.messages } }]
    }
  }

  #set<K extends keyof State>(key: K, value: State[K]): AgUiEvent[] {
    this.state = { ...this.state, [key]: value }
    return [{ type: 'STATE_DELTA', delta: [{ op: 'replace', path: `/${key}`, value }] }]
  }
}

const contentEvent = (kind: TextKind, messageId: string, delta: string): AgUiEvent => ({
  type: kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT',
  messageId,
  delta,
})

/** A message that arrived while the turn ran, with its text only. */
function steeredEvents(message: Said): AgUiEvent[] {
  const messageId = userMessageId(message)
  return [
    { type: 'TEXT_MESSAGE_START', messageId, role: 'user' },
    ...(message.content === '' ? [] : [{ type: 'TEXT_MESSAGE_CONTENT', messageId, delta: message.content }]),
    { type: 'TEXT_MESSAGE_END', messageId },
  ]
}

export const isReasoningId = (messageId: string): boolean => messageId.startsWith('r')

const SUPERSEDED = 'cairn.superseded'
const supersededEvent = (messageIds: readonly string[]): AgUiEvent => ({
  type: 'CUSTOM',
  name: SUPERSEDED,
  value: { messageIds },
})
/** The messages that a repeated model call has made void; null: the event is another one. */
export function supersededBy({ type, name, value }: AgUiEvent): readonly string[] | null {
  return type === 'CUSTOM' && name === SUPERSEDED
    ? (value as { messageIds: readonly string[] }).messageIds
    : null
}
