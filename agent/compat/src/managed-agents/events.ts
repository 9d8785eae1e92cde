/**
 * The log as events of Claude Managed Agents. An event has an id derived from the log, so a list, a stream
 * and a stream that continues after a cut agree.
 *
 * preview   a frame of a text that is being written; its event follows with the same id
 */
import type { EventId, EventOf, SessionEvent } from '@cairn/protocol'
import { type Change, positionOf, type Position } from '../changes/change.ts'
import type { Changed } from '../changes/exchange.ts'
import {
  answeredData,
  askedData,
  callData,
  childData,
  type Data,
  decidedData,
  endData,
  idleData,
  noteData,
  outcomeData,
  requestEndData,
  resultData,
  saidData,
  textBlocks,
  verdictData,
} from './data.ts'

export type Frame = { position: Position; created_at: string; preview: boolean; data: Data }

/** Previews come before the events of the same record of the log, whether or not the deltas are pruned. */
const FIRST_EVENT = 16

export const eventId = (id: EventId, part = 1): string => `sevt_${id}${part === 1 ? '' : `_${part}`}`
/** The message and the thinking of a model call have ids of their own, which their previews know. */
const messageId = (request: EventId): string => `sevt_${request}_message`
const thinkingId = (request: EventId): string => `sevt_${request}_thinking`

/** `hasRequest`: its llm.request is in the log. */
type OpenCall = {
  request: EventId
  start: string
  hasRequest: boolean
  open: boolean
  thought: boolean
  text: string
}

/** Reads a session from the beginning of an exchange, or of its log. */
export class EventWriter {
  /** The last model call, and the event that shows its start; `open` until its response. */
  #call: OpenCall | null = null
  /** The event that shows each call, each approval and each question. */
  readonly #calls = new Map<string, string>()
  readonly #gates = new Map<EventId, string>()
  readonly #asks = new Map<EventId, string>()
  readonly #agents = new Map<string, string>()
  #event: SessionEvent | null = null
  /** The event that the run began with. */
  #begin: EventId = 0
  #previews = 0
  #events = 0

  take({ event, changes, starts }: Changed): Frame[] {
    if (this.#event === null || starts) this.#beginRun(event.id)
    this.#event = event
    this.#previews = 0
    this.#events = 0
    const running: Data[] = starts ? [{ type: 'session.status_running' }] : []
    // A model call runs before it begins; a message, a decision or an answer comes before what it starts.
    const isCall = event.type === 'llm.request'
    return [
      ...(isCall ? this.#all(running) : []),
      ...changes.flatMap(change => this.#ofChange(change)),
      ...this.#ofType(event),
      ...(isCall ? [] : this.#all(running)),
    ]
  }

  /** What an event shows by its type alone. */
  #ofType(event: SessionEvent): Frame[] {
    switch (event.type) {
      case 'llm.request':
        return this.#requestFrames(event)
      case 'llm.thinking':
        return this.#thinkingFrames()
      case 'llm.response':
        return event.data.finish_reason === 'command' ? this.#replyFrames(event) : []
      case 'user.define_outcome':
        return this.#all([outcomeData(event)])
      case 'span.outcome_evaluation_start':
      case 'span.outcome_evaluation_ongoing': {
        const { outcome_id, iteration } = event.data
        return this.#all([{ type: event.type, outcome_id, iteration }])
      }
      case 'span.outcome_evaluation_end':
        return this.#all([verdictData(event, eventId(event.data.outcome_evaluation_start_id))])
      default:
        return []
    }
  }

  #ofChange(change: Change): Frame[] {
    switch (change.kind) {
      case 'begun':
      case 'steered':
        return this.#all([saidData(change.message)])
      case 'text':
      case 'reasoning':
        return this.#textFrames(change)
      case 'reset':
        if (this.#call !== null) this.#call.text = ''
        return []
      case 'usage':
        return this.#responseFrames()
      case 'call':
        return this.#callFrames(change)
      case 'gate':
        this.#gates.set(change.gate, this.#calls.get(change.call) ?? eventId(change.gate))
        return []
      case 'decided':
        return this.#all([decidedData(change, this.#gates.get(change.gate) ?? eventId(change.gate))])
      case 'result':
        return this.#all([resultData(change, this.#calls.get(change.call))])
      case 'asked':
        return this.#askFrames(change)
      case 'answered':
        return this.#all([answeredData(change, this.#asks.get(change.ask) ?? eventId(change.ask))])
      case 'child':
        return this.#all(childData(change, this.#agentOf(change.worker)))
      case 'note':
        return this.#all(noteData(change))
      case 'ended':
        return this.#endFrames(change)
      case 'step':
        return []
    }
  }

  #requestFrames({ id }: EventOf<'llm.request'>): Frame[] {
    const failed = this.#closeCall()
    const start = this.#frame({ type: 'span.model_request_start' })
    this.#call = {
      request: id,
      start: String(start.data['id']),
      hasRequest: true,
      open: true,
      thought: false,
      text: '',
    }
    return [...failed, start]
  }

  #beginRun(id: EventId): void {
    this.#begin = id
    if (this.#call?.hasRequest === false) this.#call = null
  }

  /** Logs of older releases may lack the beginning of a call, which then counts as that of its run. */
  #currentCall(): OpenCall {
    const request = this.#begin
    const start = eventId(request)
    return (this.#call ??= { request, start, hasRequest: false, open: true, thought: false, text: '' })
  }

  /** The end of a model call that got no response. */
  #closeCall(): Frame[] {
    const call = this.#call
    if (call === null || !call.hasRequest || !call.open) return []
    call.open = false
    return this.#all([requestEndData(call.start, null)])
  }

  #responseFrames(): Frame[] {
    const call = this.#currentCall()
    const { request, start, open, text } = call
    const response = this.#event?.type === 'llm.response' ? this.#event : null
    this.#call = { ...call, open: false, thought: true, text: '' }
    // Only damaged logs have several responses to one call; the first one has the previews.
    const id = open ? { id: messageId(request) } : {}
    const message = { type: 'agent.message', ...id, content: textBlocks(text) }
    return this.#all([...(text === '' ? [] : [message]), requestEndData(start, response)])
  }

  #thinkingFrames(): Frame[] {
    const call = this.#currentCall()
    const id = call.thought ? {} : { id: thinkingId(call.request) }
    call.thought = true
    return this.#all([{ type: 'agent.thinking', ...id }])
  }

  /** The server's reply to a command such as /goal. */
  #replyFrames({ data }: EventOf<'llm.response'>): Frame[] {
    return this.#all([{ type: 'agent.message', content: textBlocks(data.message.content) }])
  }

  #textFrames(change: Extract<Change, { kind: 'text' | 'reasoning' }>): Frame[] {
    if (change.phase === 'end') return []
    const call = this.#currentCall()
    const isText = change.kind === 'text'
    const id = isText ? messageId(call.request) : thinkingId(call.request)
    if (change.phase === 'start')
      return [
        this.#preview({
          type: 'event_start',
          event: { type: isText ? 'agent.message' : 'agent.thinking', id },
        }),
      ]
    // Theirs shows that the agent thinks, and not what.
    if (!isText || change.phase !== 'delta') return []
    call.text += change.text
    const delta = { type: 'content_delta', index: 0, content: { type: 'text', text: change.text } }
    return [this.#preview({ type: 'event_delta', event_id: id, delta })]
  }

  #callFrames(change: Extract<Change, { kind: 'call' }>): Frame[] {
    const verdict = this.#event?.type === 'tool.call' ? this.#event.data.verdict : undefined
    const frame = this.#frame(callData(change, change.waits ? 'ask' : (verdict ?? 'allow')))
    this.#calls.set(change.call, String(frame.data['id']))
    return [frame]
  }

  #askFrames(change: Extract<Change, { kind: 'asked' }>): Frame[] {
    const frame = this.#frame(askedData(change))
    this.#asks.set(change.ask, String(frame.data['id']))
    return [frame]
  }

  #agentOf(worker: string): string {
    if (this.#event?.type === 'worker.spawned') this.#agents.set(worker, this.#event.data.agent)
    return this.#agents.get(worker) ?? 'worker'
  }

  #endFrames({ end, open: { approvals, asks } }: Extract<Change, { kind: 'ended' }>): Frame[] {
    const waiting = [
      ...approvals.map(gate => this.#gates.get(gate) ?? eventId(gate)),
      ...asks.map(ask => this.#asks.get(ask) ?? eventId(ask)),
    ]
    return [...this.#closeCall(), ...this.#all([...endData(end), idleData(end, waiting)])]
  }

  #all(data: readonly Data[]): Frame[] {
    return data.map(each => this.#frame(each))
  }

  #frame(data: Data): Frame {
    const part = ++this.#events
    const { id = 0, created_at = '' } = this.#event ?? {}
    return this.#place(
      FIRST_EVENT + part,
      { id: eventId(id, part), processed_at: created_at, ...data },
      false,
    )
  }

  #preview(data: Data): Frame {
    return this.#place(Math.min(this.#previews++, FIRST_EVENT), data, true)
  }

  #place(index: number, data: Data, preview: boolean): Frame {
    const { id = 0, created_at = '' } = this.#event ?? {}
    return { position: positionOf(id, index), created_at, preview, data }
  }
}
