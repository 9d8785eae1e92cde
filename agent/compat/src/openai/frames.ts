/**
 * One response: a part of an exchange, from a message, a decision or an answer until the exchange is at rest.
 * Changes become the events of OpenAI's stream, and the response object that they add up to.
 *
 * A sequence number is the position in the log, so it is valid in every process and after deltas were pruned.
 */
import { type EventId, type SessionEvent } from '@cairn/protocol'
import { type Change, type End, positionOf, type Position, type Usage } from '../changes/change.ts'
import {
  approvalItem,
  askItem,
  callItem,
  type Item,
  outcomeOf,
  outputText,
  reasoningItem,
  textItem,
} from './items.ts'

export type Frame = {
  position: Position
  data: { type: string } & Record<string, unknown>
  /** For the first frames of a text that was read from its response: the llm.request, and their index. */
  pruned?: { request: EventId; index: number }
}

/**
 * Indexes of frames within an event. Those of texts depend on nothing else that the event contains. From the
 * start of the text on, those of its reasoning are higher than that start (`late`), and the reasoning ends
 * last: so every position shows whether the client has seen the text begin.
 */
const INDEX = {
  reset: 0,
  reasoning: { added: 16, delta: 18, done: 48 },
  text: { added: 32, delta: 40, done: 41 },
  late: { added: 36, delta: 38 },
  other: 64,
  closed: 700,
  last: 1000,
} as const

type TextChange = Extract<Change, { kind: 'text' | 'reasoning' }>
type TextKind = TextChange['kind']
type Open = { index: number; text: string; added: EventId }
type OpenCallItem = { index: number; event: EventId; name: string; input: Record<string, unknown> }

const itemOf = { text: textItem, reasoning: reasoningItem }
const partOf = { text: outputText, reasoning: (text: string) => ({ type: 'reasoning_text', text }) }
const nameOf = { text: 'response.output_text', reasoning: 'response.reasoning_text' }

/** Reads all responses of an exchange, one after the other. */
export class ResponseWriter {
  /** By output index; null: replaced. */
  #items: (Item | null)[] = []
  /** Usage of the exchange before this response, and so far. */
  #before: Usage | null = null
  #total: Usage | null = null
  #texts: Record<TextKind, Open | null> = { text: null, reasoning: null }
  /** Items of the current model call, which a reset replaces. */
  #current: number[] = []
  #currentPart: EventId = 0
  readonly #calls = new Map<string, OpenCallItem>()
  readonly #approvals = new Map<string, Extract<Change, { kind: 'gate' }>>()
  #event: SessionEvent | null = null
  #next: number = INDEX.other

  /** A response begins: the items are new, the approvals of earlier ones are known. */
  begin(): void {
    this.#items = []
    this.#texts = { text: null, reasoning: null }
    this.#current = []
    this.#calls.clear()
    this.#before = this.#total
  }

  take(event: SessionEvent, changes: readonly Change[]): Frame[] {
    this.#event = event
    this.#next = INDEX.other
    return changes.flatMap(change => this.#framesOf(change))
  }

  /** The items so far, without those that a repeated model call replaced. */
  output(): Item[] {
    return this.#items.filter(item => item !== null)
  }

  usage(): Usage | null {
    return this.#total === null ? null : subtract(this.#total, this.#before)
  }

  /** The last frames of calls that are still open when the exchange is at rest. */
  closeItems(id: EventId): Frame[] {
    const frames: Frame[] = []
    for (const [, { index, event: called, ...call }] of this.#calls) {
      const position = positionOf(id, INDEX.closed + frames.length)
      const data = this.#done(index, callItem(called, call, { status: 'incomplete' }))
      frames.push({ position, data: { ...data, sequence_number: position } })
    }
    this.#calls.clear()
    return frames
  }

  #framesOf(change: Change): Frame[] {
    switch (change.kind) {
      case 'text':
      case 'reasoning':
        return this.#textFrames(change)
      case 'reset':
        return this.#resetFrames(change.part)
      case 'call':
        return change.waits ? [] : this.#callFrames(change)
      case 'result':
        return this.#resultFrames(change)
      case 'gate':
        this.#approvals.set(change.call, change)
        return this.#whole(approvalItem(change))
      case 'asked':
        return this.#whole(askItem(change))
      case 'usage':
        this.#total = change.total
        return []
      default:
        return []
    }
  }

  #textFrames(change: TextChange): Frame[] {
    const { kind, part } = change
    if (change.phase === 'start') return this.#startText(kind, part)
    const open = this.#texts[kind]
    if (open === null) return []
    const item_id = itemOf[kind](part, null, 'in_progress').id
    const place = { item_id, output_index: open.index, content_index: 0 }
    const logprobs = kind === 'text' ? { logprobs: [] } : {}
    if (change.phase === 'delta') {
      open.text += change.text
      const { delta: index } = this.#indexes(kind)
      const data = { type: `${nameOf[kind]}.delta`, ...place, delta: change.text, ...logprobs }
      const delta = this.#frame(index, data)
      return [open.added === this.#event?.id ? this.#withPruned(delta, part, kind) : delta]
    }
    this.#texts[kind] = null
    const { text } = open
    const { done: last } = INDEX[kind]
    return [
      this.#frame(last, { type: `${nameOf[kind]}.done`, ...place, text, ...logprobs }),
      this.#frame(last + 1, { type: 'response.content_part.done', ...place, part: partOf[kind](text) }),
      this.#frame(last + 2, this.#done(open.index, itemOf[kind](part, text, 'completed'))),
    ]
  }

  #startText(kind: TextKind, part: EventId): Frame[] {
    if (part !== this.#currentPart) this.#current = []
    this.#currentPart = part
    const item = itemOf[kind](part, null, 'in_progress')
    const { added } = this.#indexes(kind)
    const first = this.#frame(added, this.#added(item))
    const index = this.#items.length - 1
    this.#texts[kind] = { index, text: '', added: this.#event?.id ?? 0 }
    this.#current.push(index)
    const place = { item_id: item.id, output_index: index, content_index: 0 }
    const data = { type: 'response.content_part.added', ...place, part: partOf[kind]('') }
    const second = this.#frame(added + 1, data)
    return [first, second].map(each => this.#withPruned(each, part, kind))
  }

  #indexes(kind: TextKind): { added: number; delta: number } {
    return kind === 'reasoning' && this.#texts.text !== null ? INDEX.late : INDEX[kind]
  }

  /** A text that begins with its response has lost its deltas, or never had any. */
  #withPruned(frame: Frame, request: EventId, kind: TextKind): Frame {
    return this.#event?.type === 'llm.delta'
      ? frame
      : { ...frame, pruned: { request, index: INDEX[kind].added } }
  }

  #resetFrames(part: EventId): Frame[] {
    const frames: Frame[] = []
    for (const kind of ['reasoning', 'text'] as const) {
      const open = this.#texts[kind]
      if (open === null) continue
      const data = this.#done(open.index, itemOf[kind](part, open.text, 'incomplete'))
      frames.push(this.#frame(INDEX.reset + frames.length, data))
    }
    for (const index of this.#current) this.#items[index] = null
    this.#texts = { text: null, reasoning: null }
    this.#current = []
    return frames
  }

  #callFrames({ call, name, input }: Extract<Change, { kind: 'call' }>): Frame[] {
    const event = this.#event?.id ?? 0
    const item = callItem(event, { name, input }, { status: 'in_progress' })
    const first = this.#other(this.#added(item))
    const index = this.#items.length - 1
    this.#calls.set(call, { index, event, name, input })
    const place = { item_id: item.id, output_index: index }
    return [
      first,
      this.#other({ type: 'response.mcp_call.in_progress', ...place }),
      this.#other({ type: 'response.mcp_call_arguments.done', ...place, arguments: item['arguments'] }),
    ]
  }

  #resultFrames(change: Extract<Change, { kind: 'result' }>): Frame[] {
    const open = this.#calls.get(change.call)
    this.#calls.delete(change.call)
    const outcome = outcomeOf(change)
    if (open !== undefined) {
      const place = { item_id: `mcp_${open.event}`, output_index: open.index }
      const type = change.failed ? 'response.mcp_call.failed' : 'response.mcp_call.completed'
      return [
        this.#other({ type, ...place }),
        this.#other(this.#done(open.index, callItem(open.event, open, outcome))),
      ]
    }
    const approval = this.#approvals.get(change.call)
    const { name, input } = approval ?? { name: change.name, input: {} }
    const approved = approval === undefined ? {} : { approval_request_id: `apr_${approval.gate}` }
    return this.#whole(callItem(this.#unusedId(), { name, input }, { ...outcome, ...approved }))
  }

  /** The end of a turn closes several calls in one event, and each needs an id of its own. */
  #unusedId(): EventId {
    const id = this.#event?.id ?? 0
    return this.#items.some(item => item?.id === `mcp_${id}`) ? positionOf(id, this.#next) : id
  }

  #frame(index: number, data: Frame['data']): Frame {
    const position = positionOf(this.#event?.id ?? 0, index)
    return { position, data: { ...data, sequence_number: position } }
  }

  #other(data: Frame['data']): Frame {
    return this.#frame(this.#next++, data)
  }

  #added(item: Item): Frame['data'] {
    this.#items.push(item)
    return { type: 'response.output_item.added', output_index: this.#items.length - 1, item }
  }

  #done(index: number, item: Item): Frame['data'] {
    this.#items[index] = item
    return { type: 'response.output_item.done', output_index: index, item }
  }

  /** An item without a course: added and done at once. */
  #whole(item: Item): Frame[] {
    const isCall = item.type === 'function_call'
    const first = this.#other(this.#added({ ...item, ...(isCall ? { status: 'in_progress' } : {}) }))
    return [first, this.#other(this.#done(this.#items.length - 1, item))]
  }
}

const subtract = (total: Usage, before: Usage | null): Usage => ({
  input_tokens: total.input_tokens - (before?.input_tokens ?? 0),
  output_tokens: total.output_tokens - (before?.output_tokens ?? 0),
  reasoning_tokens: total.reasoning_tokens - (before?.reasoning_tokens ?? 0),
  cache_read_tokens: total.cache_read_tokens - (before?.cache_read_tokens ?? 0),
  cost_usd: total.cost_usd - (before?.cost_usd ?? 0),
})

/** Position of the last frame of a response that ends with this event. */
export const lastPosition = (event: EventId): Position => positionOf(event, INDEX.last)

type Outcome = {
  status: 'completed' | 'incomplete' | 'failed' | 'cancelled' | 'in_progress'
  error: { code: string; message: string } | null
  incomplete_details: { reason: string } | null
}

/** What the end of an exchange means for the response. */
export function outcomeOfEnd(end: End | null): Outcome {
  const none = { error: null, incomplete_details: null }
  switch (end?.reason) {
    case undefined:
      return { status: 'in_progress', ...none }
    case 'completed':
    case 'waits':
      return { status: 'completed', ...none }
    case 'stopped':
      return { status: 'cancelled', ...none }
    case 'failed': {
      const code = end.category === 'rate_limit' ? 'rate_limit_exceeded' : 'server_error'
      return { status: 'failed', error: { code, message: end.error }, incomplete_details: null }
    }
    case 'paused':
      return { status: 'incomplete', ...none }
    default:
      return { status: 'incomplete', error: null, incomplete_details: { reason: 'max_output_tokens' } }
  }
}
