/** Responses as parts of exchanges: from a message, a decision or an answer until the exchange is at rest. */
import type { SessionRow } from '@cairn/log'
import type { EventId, SessionEvent } from '@cairn/protocol'
import { type Change, eventOf, type End, positionOf, type Position } from '../changes/change.ts'
import { findExchange, followExchange, readUntil } from '../changes/exchange.ts'
import type { CompatDeps } from '../deps.ts'
import { undashed } from '../request/ids.ts'
import { compatOrigin } from '../request/origin.ts'
import { type Frame, lastPosition, outcomeOfEnd, ResponseWriter } from './frames.ts'
import type { Item } from './items.ts'

/** `start` is the event that began the response. */
export type ResponseRef = { session: SessionRow; exchange: EventId; start: EventId }

type Store = Pick<CompatDeps, 'store'>

/** The response that an event is of; null: it is of none. */
export async function locate(
  { store }: Store,
  session: SessionRow,
  event: EventId,
): Promise<ResponseRef | null> {
  const exchange = await findExchange(store, session.id, event)
  if (exchange === null) return null
  const changed = await readUntil(store, session.id, { begin: exchange, last: event })
  const start = changed.findLast(({ starts }) => starts)?.event.id
  return start === undefined ? null : { session, exchange, start }
}

const responseId = ({ session, start }: ResponseRef): string => `resp_${session.id}_${start}`

/** The id of a response as session and event; null if it is not one. */
export function parseResponseId(id: string): { session_id: string; start: EventId } | null {
  const match = /^resp_([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})_([1-9]\d{0,14})$/.exec(id)
  return match === null ? null : { session_id: match[1] ?? '', start: Number(match[2]) }
}

export type ResponseObject = Record<string, unknown> & { id: string; status: string; output: Item[] }
type Progress = { frames: Frame[]; response: () => ResponseObject; atEnd: boolean; isOver: boolean }

/** Follows a response until it is over or `signal` aborts. Yields nothing if no such response began. */
export async function* followResponse(
  { store }: Store,
  ref: ResponseRef,
  signal: AbortSignal,
): AsyncGenerator<Progress> {
  const writer = new ResponseWriter()
  let started: SessionEvent | null = null
  let ended: { end: End; event: SessionEvent } | null = null
  const response = (): ResponseObject => responseObject(ref, writer, started, ended)
  for await (const page of followExchange(store, ref.session.id, ref.exchange, signal)) {
    const frames: Frame[] = []
    let isOver = false
    for (const { event, changes, starts } of page.changed) {
      if (starts && started !== null) isOver = true
      if (isOver) break
      if (starts) writer.begin()
      if (starts && event.id === ref.start) {
        started = event
        frames.push(...firstFrames(event, response()))
      }
      if (ended !== null) continue
      const made = writer.take(event, changes)
      if (started === null) continue
      frames.push(...made)
      const end = endOf(changes)
      if (end !== null) ended = { end, event }
    }
    if (started === null) {
      if (page.atEnd || page.isOver) return
      continue
    }
    isOver = ended !== null && (isOver || page.atEnd || page.isOver)
    if (isOver && ended !== null)
      frames.push(...writer.closeItems(ended.event.id), lastFrame(ended.event, response()))
    if (frames.length > 0 || page.atEnd) yield { frames, response, atEnd: page.atEnd, isOver }
    if (isOver || page.isOver) return
  }
}

const endOf = (changes: readonly Change[]): End | null =>
  changes.find(change => change.kind === 'ended')?.end ?? null

const frameAt = (position: Position, type: string, response: ResponseObject): Frame => ({
  position,
  data: { type, response, sequence_number: position },
})

const firstFrames = ({ id }: SessionEvent, response: ResponseObject): Frame[] => [
  frameAt(positionOf(id, 0), 'response.created', response),
  frameAt(positionOf(id, 1), 'response.in_progress', response),
]

const LAST_TYPE: Record<string, string> = { completed: 'response.completed', failed: 'response.failed' }
const lastFrame = ({ id }: SessionEvent, response: ResponseObject): Frame =>
  frameAt(lastPosition(id), LAST_TYPE[response.status] ?? 'response.incomplete', response)

const seconds = ({ created_at }: SessionEvent): number => Math.floor(Date.parse(created_at) / 1000)

function responseObject(
  ref: ResponseRef,
  writer: ResponseWriter,
  started: SessionEvent | null,
  ended: { end: End; event: SessionEvent } | null,
): ResponseObject {
  const usage = writer.usage()
  return {
    id: responseId(ref),
    object: 'response',
    created_at: started === null ? 0 : seconds(started),
    ...outcomeOfEnd(ended?.end ?? null),
    completed_at: ended === null ? null : seconds(ended.event),
    background: true,
    conversation: { id: `conv_${undashed(ref.session.id)}` },
    instructions: null,
    max_output_tokens: null,
    metadata: metadataOf(started),
    model: ref.session.agent,
    output: writer.output(),
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: true,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    usage:
      usage === null || ended === null
        ? null
        : {
            input_tokens: usage.input_tokens,
            input_tokens_details: { cached_tokens: usage.cache_read_tokens, cache_write_tokens: 0 },
            output_tokens: usage.output_tokens,
            output_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
            total_tokens: usage.input_tokens + usage.output_tokens,
          },
  }
}

/** The metadata that the request gave with its message. */
function metadataOf(started: SessionEvent | null): unknown {
  return started?.type === 'user.message' ? (compatOrigin(started.data.metadata).metadata ?? {}) : {}
}

/** The response so far, or null if no such response began. */
export async function readResponse(deps: Store, ref: ResponseRef): Promise<ResponseObject | null> {
  const leave = new AbortController()
  for await (const { response, atEnd, isOver } of followResponse(deps, ref, leave.signal))
    if (atEnd || isOver) return response()
  return null
}

/**
 * The frames after a position. A client that was in the middle of a text whose deltas were pruned since gets
 * the whole text with its last frames, and no second beginning.
 */
export const framesAfter = (frames: readonly Frame[], after: Position): Frame[] =>
  frames.filter(({ position, pruned }) => {
    if (position <= after) return false
    if (pruned === undefined) return true
    const seen = eventOf(after)
    const index = after - positionOf(seen, 0)
    return !(seen > pruned.request && index >= pruned.index && seen < eventOf(position))
  })
