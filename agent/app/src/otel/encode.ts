/**
 * Encodes spans as OTLP JSON. All ids derive from the log, so a span that is sent again has the ids that it
 * was first sent with.
 */
import { createHash } from 'node:crypto'
import {
  type Attributes,
  type AttributeValue,
  GENAI_SCHEMA_URL,
  type TelemetrySpan,
  type TraceRef,
} from '@cairn/state'

const hex = (bytes: number, ...from: readonly (string | number)[]): string =>
  createHash('sha256')
    .update(from.join('\n'))
    .digest('hex')
    .slice(0, bytes * 2)

const traceId = ({ session_id, exchange, caller }: TraceRef): string =>
  caller?.trace_id ?? hex(16, session_id, exchange)
const spanId = (sessionId: string, eventId: number, kind: string): string => hex(8, sessionId, eventId, kind)

type OtlpValue =
  | { stringValue: string }
  | { intValue: string }
  | { doubleValue: number }
  | { boolValue: boolean }
  | { arrayValue: { values: OtlpValue[] } }
type OtlpAttribute = { key: string; value: OtlpValue }
export type OtlpSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: OtlpAttribute[]
  links?: { traceId: string; spanId: string }[]
  status: { code: number; message?: string }
}

/** Numbers of the protocol: SpanKind and StatusCode. */
const INTERNAL = 1
const CLIENT = 3
const UNSET = 0
const ERROR = 2

function valueOf(value: AttributeValue): OtlpValue {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    // 64-bit integers are text in the JSON form of protocol buffers.
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map(valueOf) } }
}

const attributesOf = (attributes: Attributes): OtlpAttribute[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }))

const nanos = (ms: number): string => `${ms}000000`

export function encodeSpan(span: TelemetrySpan): OtlpSpan {
  const { session_id, caller } = span.trace
  const parent = span.parent === null ? caller?.parent_span_id : spanId(session_id, span.parent, 'turn')
  const links = span.links.map(link => ({
    traceId: traceId(link),
    spanId: spanId(link.session_id, link.exchange, 'turn'),
  }))
  const error = span.error === null ? {} : { 'error.type': span.error }
  return {
    traceId: traceId(span.trace),
    spanId: spanId(session_id, span.event_id, span.kind),
    ...(parent === undefined ? {} : { parentSpanId: parent }),
    name: span.name,
    kind: span.is_client ? CLIENT : INTERNAL,
    startTimeUnixNano: nanos(span.from),
    endTimeUnixNano: nanos(span.to),
    attributes: attributesOf({ ...span.attributes, ...error }),
    ...(links.length === 0 ? {} : { links }),
    status: span.error === null ? { code: UNSET } : { code: ERROR, message: span.error },
  }
}

/** The body of a request; `spans` are spans in JSON. */
export function encodeRequest(spans: readonly string[], resource: Attributes, version: string): string {
  const attributes = JSON.stringify(attributesOf(resource))
  const scope = JSON.stringify({ name: 'cairn', version })
  return (
    `{"resourceSpans":[{"resource":{"attributes":${attributes}},"scopeSpans":[{"scope":${scope},` +
    `"schemaUrl":${JSON.stringify(GENAI_SCHEMA_URL)},"spans":[${spans.join(',')}]}]}]}`
  )
}
