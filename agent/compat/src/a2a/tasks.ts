/**
 * An exchange as a task. Its state, its artifacts and its messages are a fold of the log, so every replica
 * answers with the same task.
 */
import type { EventId, SessionEvent } from '@cairn/protocol'
import type { Change, End } from '../changes/change.ts'
import type { Changed } from '../changes/exchange.ts'
import { type Part, saidMessage, textPart, type Waiting, waitingParts } from './parts.ts'

type State =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_AUTH_REQUIRED'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED'

type Artifact = { artifactId: string; name: string; parts: Part[]; metadata?: Record<string, unknown> }
type AgentMessage = ReturnType<typeof saidMessage>
type Status = { state: State; timestamp: string; message?: AgentMessage }
export type Task = {
  id: string
  contextId: string
  status: Status
  artifacts: Artifact[]
  history: AgentMessage[]
}
/** A frame of a stream: one of the keys `task`, `statusUpdate` and `artifactUpdate`. */
export type StreamFrame = Record<string, unknown>

export const isTerminal = ({ status: { state } }: Pick<Task, 'status'>): boolean =>
  ['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED'].includes(state)
/** The caller must act before the task continues. */
export const isWaiting = ({ status: { state } }: Pick<Task, 'status'>): boolean =>
  state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED'

export class TaskWriter {
  readonly #place: { taskId: string; contextId: string }
  readonly #base: string
  #status: Status = { state: 'TASK_STATE_SUBMITTED', timestamp: '' }
  /** Texts of answers by the model call, and files by their id. */
  readonly #artifacts = new Map<string, Artifact>()
  readonly #history: AgentMessage[] = []
  readonly #waiting = new Map<EventId, Waiting>()
  #request: EventId = 0
  #event: SessionEvent | null = null

  /** `base` is the address of this service, for links to artifacts. */
  constructor(place: { taskId: string; contextId: string }, base: string) {
    this.#place = place
    this.#base = base
  }

  get status(): Status {
    return this.#status
  }

  get waiting(): Waiting[] {
    return [...this.#waiting.values()]
  }

  task(): Task {
    const { taskId: id, contextId } = this.#place
    return {
      id,
      contextId,
      status: this.#status,
      artifacts: structuredClone([...this.#artifacts.values()]),
      history: [...this.#history],
    }
  }

  take({ event, changes, isLate }: Pick<Changed, 'event' | 'changes' | 'isLate'>): StreamFrame[] {
    this.#event = event
    if (event.type === 'llm.request') this.#request = event.id
    const status = this.#status
    const frames = changes.flatMap(change => this.#framesOf(change))
    if (isLate !== true) return frames
    // The turn that a late decision or answer starts is of the next task: this one only stops waiting.
    this.#status = status
    return isTerminal(this) ? [] : this.#restFrames()
  }

  #framesOf(change: Change): StreamFrame[] {
    switch (change.kind) {
      case 'begun':
      case 'steered':
        this.#history.push(saidMessage(change.message, this.#place))
        return change.kind === 'begun' ? this.#setStatus('TASK_STATE_SUBMITTED') : []
      case 'step':
        return this.#status.state === 'TASK_STATE_WORKING' ? [] : this.#setStatus('TASK_STATE_WORKING')
      case 'text':
        return this.#textFrames(change)
      case 'reset':
        return this.#resetFrames()
      case 'gate':
        this.#waiting.set(change.gate, change)
        return []
      case 'asked':
        this.#waiting.set(change.ask, change)
        return []
      case 'decided':
        this.#waiting.delete(change.gate)
        return this.#setStatus('TASK_STATE_WORKING')
      case 'answered':
        this.#waiting.delete(change.ask)
        return 'cancelled' in change.output ? [] : this.#setStatus('TASK_STATE_WORKING')
      case 'note':
        return change.topic === 'artifact' ? this.#fileFrames(change) : []
      case 'ended':
        return this.#endFrames(change.end)
      case 'reasoning':
      case 'call':
      case 'result':
      case 'child':
      case 'usage':
        return []
    }
  }

  #textFrames(change: Extract<Change, { kind: 'text' }>): StreamFrame[] {
    const artifactId = `answer-${this.#request || change.part}`
    const known = this.#artifacts.get(artifactId)
    const artifact = known ?? { artifactId, name: 'answer', parts: [textPart('')] }
    this.#artifacts.set(artifactId, artifact)
    if (change.phase !== 'delta')
      return change.phase === 'end'
        ? [this.#update(artifact, [textPart('')], { append: true, lastChunk: true })]
        : []
    const isFirst = artifact.parts[0]?.text === ''
    artifact.parts = [textPart(`${artifact.parts[0]?.text ?? ''}${change.text}`)]
    return [this.#update(artifact, [textPart(change.text)], { append: !isFirst, lastChunk: false })]
  }

  /** The text of a repeated model call begins again: an update without `append` replaces it. */
  #resetFrames(): StreamFrame[] {
    const artifact = this.#artifacts.get(`answer-${this.#request}`)
    if (artifact === undefined) return []
    artifact.parts = [textPart('')]
    return [this.#update(artifact, artifact.parts, { append: false, lastChunk: false })]
  }

  #fileFrames(note: Extract<Change, { kind: 'note'; topic: 'artifact' }>): StreamFrame[] {
    const { artifact_id: artifactId, name, artifact_kind: kind, version } = note
    const url = `${this.#base}/v1/sessions/${this.#place.contextId}/artifacts/${artifactId}`
    const artifact = { artifactId, name, parts: [{ url, filename: name }], metadata: { kind, version } }
    this.#artifacts.set(artifactId, artifact)
    return [this.#update(artifact, artifact.parts, { append: false, lastChunk: true })]
  }

  #endFrames(end: End): StreamFrame[] {
    switch (end.reason) {
      case 'stopped':
        return this.#setStatus('TASK_STATE_CANCELED')
      case 'failed':
        return this.#setStatus('TASK_STATE_FAILED', [textPart(end.error)])
      case 'budget_exhausted':
      case 'tool_loop':
        return this.#setStatus('TASK_STATE_FAILED', [textPart(`The turn ended early: ${end.reason}.`)])
      // A paused session continues when a person resumes it.
      case 'paused':
        return []
      case 'completed':
      case 'waits':
        return this.#restFrames()
    }
  }

  #restFrames(): StreamFrame[] {
    if (this.#waiting.size === 0) return this.#setStatus('TASK_STATE_COMPLETED')
    const waiting = this.waiting
    const hasAction = waiting.some(item => item.kind === 'asked' && item.action !== null)
    const state = hasAction ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_INPUT_REQUIRED'
    return this.#setStatus(state, waitingParts(waiting))
  }

  #setStatus(state: State, parts?: Part[]): StreamFrame[] {
    const { id = 0, created_at: timestamp = '' } = this.#event ?? {}
    const message =
      parts === undefined
        ? {}
        : { message: { messageId: `s${id}`, ...this.#place, role: 'ROLE_AGENT', parts } }
    this.#status = { state, timestamp, ...message }
    return [{ statusUpdate: { ...this.#place, status: this.#status } }]
  }

  #update(artifact: Artifact, parts: Part[], more: { append: boolean; lastChunk: boolean }): StreamFrame {
    return { artifactUpdate: { ...this.#place, artifact: { ...artifact, parts }, ...more } }
  }
}
