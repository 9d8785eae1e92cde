/** The time spans of a turn: one for each model call, tool call, wait and worker. Pure. */
import { isHeld, type SessionEvent, toolError } from '@cairn/protocol'
import { railWords } from '../words/rail.ts'

export type Span = {
  kind: 'model' | 'tool' | 'wait' | 'worker'
  name: string
  /** The event that starts the span. */
  eventId: number
  /** Unix milliseconds. The end is null while the span is open. */
  from: number
  to: number | null
  /** The time of the first token of a model call; null for other spans. */
  firstAt: number | null
  failed: boolean
}
type Open = { spans: Span[]; byKey: Map<string, Span> }

/** The spans of one turn, in the order of their start. */
export function spansOf(events: readonly SessionEvent[]): Span[] {
  const open: Open = { spans: [], byKey: new Map() }
  for (const event of events) read(open, event)
  return open.spans
}

function read(open: Open, event: SessionEvent): void {
  const at = Date.parse(event.created_at)
  switch (event.type) {
    case 'llm.request':
      return begin(open, 'model', { kind: 'model', name: event.data.model ?? railWords.aModel, event, at })
    case 'llm.delta': {
      const span = open.byKey.get('model')
      if (span && span.firstAt === null) span.firstAt = at
      return
    }
    case 'llm.response': {
      const span = open.byKey.get('model')
      // If the chunks were pruned, the response has the time of the first token.
      const { first_token_ms: first } = event.data
      if (span && first !== undefined) span.firstAt = span.from + first
      return end(open, 'model', at)
    }
    case 'tool.call':
      return begin(open, event.data.tool_call_id, { kind: 'tool', name: event.data.name, event, at })
    case 'tool.result':
      return end(open, event.data.tool_call_id, at, isFailure(event.data.content))
    case 'inbox.input_required':
      return begin(open, `wait ${event.data.tool_call_id}`, {
        kind: 'wait',
        name: railWords.aQuestion,
        event,
        at,
      })
    case 'ask_user_question.response':
      return end(open, `wait ${event.data.tool_call_id}`, at)
    case 'worker.spawned':
      return begin(open, `worker ${event.data.worker_id}`, {
        kind: 'worker',
        name: event.data.goal ?? railWords.aWorker,
        event,
        at,
      })
    case 'worker.complete':
      return end(open, `worker ${event.data.worker_id}`, at)
    case 'worker.failed':
      return end(open, `worker ${event.data.worker_id}`, at, true)
    case 'session.complete':
    case 'session.fail':
    case 'session.stopped':
      for (const [key, span] of open.byKey) if (span.kind !== 'worker') end(open, key, at)
      return
    default:
  }
}

const isFailure = (content: string): boolean => toolError(content) !== null && !isHeld(content)

type Begun = Pick<Span, 'kind' | 'name'> & { event: SessionEvent; at: number }

function begin({ spans, byKey }: Open, key: string, { kind, name, event, at }: Begun): void {
  const span: Span = { kind, name, eventId: event.id, from: at, to: null, firstAt: null, failed: false }
  spans.push(span)
  byKey.set(key, span)
}

function end({ byKey }: Open, key: string, at: number, failed = false): void {
  const span = byKey.get(key)
  if (span === undefined) return
  span.to = at
  span.failed = failed
  byKey.delete(key)
}
