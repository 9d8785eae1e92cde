/** A span for OpenTelemetry, before its ids are computed: the same log always gives the same spans. */
import type { EventId, SpanKind } from '@cairn/protocol'

export type AttributeValue = string | number | boolean | readonly string[]
export type Attributes = Record<string, AttributeValue>

/** W3C trace context of the caller that sent the message: 32 and 16 hexadecimal digits. */
export type TraceContext = { trace_id: string; parent_span_id: string }

/**
 * A trace: the exchange of a session, by the event that begins it (0: the first of its log), or the trace of
 * the caller.
 */
export type TraceRef = { session_id: string; exchange: EventId; caller: TraceContext | null }

export type TelemetrySpan = {
  trace: TraceRef
  /** The event that starts the span. Together with the kind it names the span within the session. */
  event_id: EventId
  kind: SpanKind
  /** The event that starts the turn it is part of; null for a turn and for spans outside of turns. */
  parent: EventId | null
  name: string
  /** Calls of a model leave the process. */
  is_client: boolean
  /** Epoch milliseconds. */
  from: number
  to: number
  /** `error.type`; null without an error. */
  error: string | null
  attributes: Attributes
  /** Traces of sessions that this one started. */
  links: readonly TraceRef[]
}

export type TelemetryOptions = {
  /** Whether messages, arguments and results are included. */
  content: boolean
  /** Whether ids of persons are included. */
  users: boolean
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/

/** Reads a `traceparent` header; null if it is missing or invalid. */
export function traceContextOf(header: unknown): TraceContext | null {
  const [, trace_id = '', parent_span_id = ''] =
    TRACEPARENT.exec(typeof header === 'string' ? header : '') ?? []
  return /[1-9a-f]/.test(trace_id) && /[1-9a-f]/.test(parent_span_id) ? { trace_id, parent_span_id } : null
}
