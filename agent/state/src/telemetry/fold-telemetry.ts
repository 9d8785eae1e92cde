/**
 * The fold of a log into spans for OpenTelemetry. It uses the fold of the Run view for where spans begin and
 * end, and adds traces and attributes. A span is returned by the event that ends it.
 *
 * A trace is an exchange: what a person's message began, until their next one. The fold forgets everything
 * whenever nothing is open, so its size does not grow with the log, and `rest` is enough to continue.
 */
import { type EventId, factsOf, type SessionEvent } from '@cairn/protocol'
import { isServerCommand } from '../commands/slash-command.ts'
import { foldSpans } from '../spans/fold-spans.ts'
import { emptySpanFold, isWorking, type SpanFold } from '../spans/span-fold.ts'
import { hasFlag, isOpen, kindOf } from '../spans/spans.ts'
import { endAttributes, errorOf, startAttributes } from './attributes.ts'
import {
  type Attributes,
  type TelemetryOptions,
  type TelemetrySpan,
  type TraceContext,
  traceContextOf,
  type TraceRef,
} from './telemetry-span.ts'

/** What the fold needs to continue after an event at which nothing was open. */
export type TelemetryRest = { through: EventId; at: number; exchange: EventId; caller: TraceContext | null }

type OpenSpan = {
  trace: TraceRef
  attributes: Attributes
  links: TraceRef[]
  isApproval: boolean
  /** The error of a turn that is still open because its workers are. */
  error: string | null
}

export type TelemetryFold = {
  readonly session: { id: string; agent: string }
  readonly options: TelemetryOptions
  spans: SpanFold
  /** By position in `spans`. */
  readonly open: Map<number, OpenSpan>
  exchange: EventId
  caller: TraceContext | null
  /** The last event at which nothing was open. */
  rest: TelemetryRest
}

const START: TelemetryRest = { through: 0, at: 0, exchange: 0, caller: null }

export function createTelemetryFold(
  session: TelemetryFold['session'],
  options: TelemetryOptions,
  rest: TelemetryRest = START,
): TelemetryFold {
  const { through, at, exchange, caller } = rest
  return {
    session,
    options,
    spans: { ...emptySpanFold(), through, at },
    open: new Map(),
    exchange,
    caller,
    rest,
  }
}

/** Folds an event, and returns the spans that it ends. Streaming events change nothing. */
export function foldTelemetry(fold: TelemetryFold, event: SessionEvent): TelemetrySpan[] {
  if (event.id <= fold.spans.through || event.type === 'llm.delta') return []
  beginExchange(fold, event)
  const before = fold.spans.spans.count
  foldSpans(fold.spans, [event])
  for (let span = before; span < fold.spans.spans.count; span++) openSpan(fold, span, event)
  amend(fold, event)
  const ended = [...endedSpans(fold, event), ...ratingSpan(fold, event)]
  if (fold.open.size === 0) {
    const { through, at } = fold.spans
    fold.spans = { ...emptySpanFold(), through, at }
    fold.rest = { through, at, exchange: fold.exchange, caller: fold.caller }
  }
  return ended
}

/** A message during a turn steers it, and belongs to its exchange. */
function beginExchange(fold: TelemetryFold, event: SessionEvent): void {
  if (event.type === 'user.message') {
    const { synthetic, content, metadata } = event.data
    if (synthetic === undefined && !isServerCommand(content) && !isWorking(fold.spans)) {
      fold.exchange = event.id
      fold.caller = traceContextOf(metadata?.['traceparent'])
      return
    }
  }
  if (fold.exchange === 0 && factsOf(event.type).starts_turn === true) fold.exchange = event.id
}

const traceOf = ({ session, exchange, caller }: TelemetryFold): TraceRef => ({
  session_id: session.id,
  exchange,
  caller,
})

function openSpan(fold: TelemetryFold, span: number, event: SessionEvent): void {
  // The first message of a child session begins its first exchange.
  const links =
    event.type === 'worker.spawned' ? [{ session_id: event.data.worker_id, exchange: 1, caller: null }] : []
  const isApproval = event.type === 'inbox.governance_gate'
  const attributes = startAttributes(event, fold.options)
  fold.open.set(span, { trace: traceOf(fold), attributes, links, isApproval, error: null })
}

/** What arrives while a span is open: the agent's version, a failure, and that a call waits for an approval. */
function amend({ spans: { spans, turn }, open }: TelemetryFold, event: SessionEvent): void {
  const current = open.get(turn)
  if (event.type === 'harness.wake' && event.data.agent_version !== undefined && current !== undefined)
    current.attributes['gen_ai.agent.version'] = String(event.data.agent_version)
  if (event.type === 'session.fail' && current !== undefined) current.error = errorOf(event)
  if (event.type !== 'inbox.governance_gate') return
  for (const [span, one] of open)
    if (one.attributes['gen_ai.tool.call.id'] === event.data.tool_call_id && kindOf(spans, span) === 'wait')
      one.isApproval = true
}

function endedSpans(fold: TelemetryFold, event: SessionEvent): TelemetrySpan[] {
  const { spans } = fold.spans
  const ended: TelemetrySpan[] = []
  for (const [span, one] of fold.open) {
    if (isOpen(spans, span)) continue
    fold.open.delete(span)
    const kind = kindOf(spans, span)
    // Marks are drawn on the bar of a turn; a trace has no place for them.
    if (kind === 'mark') continue
    const parent = spans.parent[span] ?? -1
    const isLast = spans.last[span] === event.id
    ended.push({
      trace: one.trace,
      event_id: spans.event[span] ?? 0,
      kind,
      parent: parent === -1 ? null : (spans.event[parent] ?? null),
      name: nameOf(fold, span, one),
      is_client: kind === 'model',
      from: spans.from[span] ?? 0,
      to: spans.to[span] ?? 0,
      error: errorOfSpan(fold, span, one.error ?? (isLast ? errorOf(event) : null)),
      attributes: {
        'gen_ai.operation.name': OPERATIONS[kind] ?? kind,
        'gen_ai.conversation.id': fold.session.id,
        'gen_ai.agent.name': fold.session.agent,
        ...one.attributes,
        ...(isLast ? endAttributes(event, fold.options) : {}),
        ...decisionOf(fold, span),
      },
      links: one.links,
    })
  }
  return ended
}

const OPERATIONS: Readonly<Record<string, string>> = {
  turn: 'invoke_agent',
  worker: 'invoke_agent',
  model: 'chat',
  tool: 'execute_tool',
  browser: 'execute_tool',
}

function nameOf(
  { session, spans: { spans } }: TelemetryFold,
  span: number,
  { attributes, isApproval }: OpenSpan,
): string {
  const name = spans.names[span] ?? ''
  switch (kindOf(spans, span)) {
    case 'turn':
      return `invoke_agent ${session.agent}`
    case 'worker':
      return `invoke_agent ${name}`
    case 'model': {
      const model = attributes['gen_ai.request.model']
      return model === undefined ? 'cairn.evaluation' : `chat ${String(model)}`
    }
    case 'wait':
      return isApproval ? 'cairn.approval' : `cairn.wait ${name}`
    case 'gap':
      return 'cairn.recovery'
    default:
      return `execute_tool ${name}`
  }
}

function errorOfSpan({ spans: { spans } }: TelemetryFold, span: number, error: string | null): string | null {
  if (hasFlag(spans, span, 'failed')) return error ?? 'error'
  return hasFlag(spans, span, 'interrupted') ? 'interrupted' : null
}

function decisionOf({ spans: { spans } }: TelemetryFold, span: number): Attributes {
  if (kindOf(spans, span) !== 'wait') return {}
  if (hasFlag(spans, span, 'approved')) return { 'cairn.decision': 'approved' }
  return hasFlag(spans, span, 'rejected') ? { 'cairn.decision': 'rejected' } : {}
}

/** A rating is a point of time: it has a span of its own, in the trace of the exchange that it follows. */
function ratingSpan(fold: TelemetryFold, event: SessionEvent): TelemetrySpan[] {
  if (event.type !== 'user.feedback') return []
  const { rating, score, source, reason } = event.data
  return [
    {
      trace: traceOf(fold),
      event_id: event.id,
      kind: 'mark',
      parent: null,
      name: 'cairn.rating',
      is_client: false,
      from: fold.spans.at,
      to: fold.spans.at,
      error: null,
      attributes: {
        'gen_ai.conversation.id': fold.session.id,
        'gen_ai.agent.name': fold.session.agent,
        'gen_ai.evaluation.name': `rating.${source}`,
        'gen_ai.evaluation.score.label': rating,
        ...(score === undefined ? {} : { 'gen_ai.evaluation.score.value': score }),
        ...(fold.options.content && reason !== undefined ? { 'gen_ai.evaluation.explanation': reason } : {}),
      },
      links: [],
    },
  ]
}
