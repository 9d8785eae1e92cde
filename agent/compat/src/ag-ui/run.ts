/** A run as a stream of events: what came before it, its history, then live until the exchange is at rest. */
import type { Change, End, StillOpen } from '../changes/change.ts'
import { followExchange } from '../changes/exchange.ts'
import type { CompatDeps } from '../deps.ts'
import { isAtRest } from '../request/rest.ts'
import { type AgUiEvent, isReasoningId, supersededBy } from './events.ts'
import { applyEvent, type History, type Message, readHistory } from './messages.ts'
import type { HeldMessage, RunRef } from './request.ts'

export type Run = {
  ref: RunRef
  threadId: string
  runId: string
  /** The messages that the client holds. */
  held: readonly HeldMessage[]
  ignored: readonly string[]
}
type Ended = { end: End; open: StillOpen }
type Store = Pick<CompatDeps, 'store'>

export async function* runEvents(deps: Store, run: Run, signal: AbortSignal): AsyncGenerator<AgUiEvent[]> {
  const { ref, threadId, runId, ignored } = run
  const place = { threadId, runId }
  yield [{ type: 'RUN_STARTED', ...place, protocolVersion: '1.0' }]
  const { session, exchange, start } = ref
  // The first message is before the run, and the decision or answer that began it is a part of it.
  const before = start === exchange ? start : start - 1
  const history = await readHistory(deps, session.id, before)
  const { writer, messages } = history
  yield [
    ...snapshotEvents(run, history),
    ...(ignored.length === 0 ? [] : [{ type: 'CUSTOM', name: 'cairn.ignored', value: { fields: ignored } }]),
  ]
  let ended: Ended | null = null
  for await (const page of followExchange(deps.store, session.id, exchange, signal)) {
    const { changed, last, atEnd, isOver } = page
    const events: AgUiEvent[] = []
    for (const each of changed) {
      if (each.event.id <= before) continue
      for (const event of writer.take(each)) {
        applyEvent(messages, event)
        events.push(...withSnapshot(event, messages.all))
      }
      for (const change of each.changes) ended = each.isLate ? ended : endAfter(ended, change)
    }
    if (ended === null && (isOver || (atEnd && (await isAtRest(deps, session.id, last))))) ended = RESTS
    const isLast = ended !== null && (atEnd || isOver)
    if (isLast && ended !== null) events.push(...writer.finish(place, ended.end, ended.open))
    if (events.length > 0) yield events
    if (isLast) return
  }
}

const RESTS: Ended = { end: { reason: 'completed' }, open: { approvals: [], asks: [] } }

/** The last end of the run, unless something followed it. */
function endAfter(ended: Ended | null, change: Change): Ended | null {
  if (change.kind === 'ended') return { end: change.end, open: change.open }
  return ['note', 'child', 'usage'].includes(change.kind) ? ended : null
}

/** A snapshot removes from the client what a repeated model call has made void. */
function withSnapshot(event: AgUiEvent, messages: readonly Message[]): AgUiEvent[] {
  const gone = supersededBy(event)
  return gone === null ? [event] : [event, ...snapshotOf(messages, gone.filter(isReasoningId))]
}

/**
 * Replaces what the client holds by these messages. Clients keep reasoning if a snapshot has none: `stale`
 * reasoning is first made an ordinary message, which the next snapshot removes.
 */
function snapshotOf(messages: readonly Message[], stale: readonly string[]): AgUiEvent[] {
  const snapshot = (all: readonly Message[]): AgUiEvent => ({
    type: 'MESSAGES_SNAPSHOT',
    messages: structuredClone(all),
  })
  const keepsReasoning = stale.length > 0 && !messages.some(({ role }) => role === 'reasoning')
  const ordinary = stale.map(id => ({ id, role: 'assistant', content: '' }))
  return [...(keepsReasoning ? [snapshot([...messages, ...ordinary])] : []), snapshot(messages)]
}

/**
 * What the client must hold before the run: complete messages only, because a text that it has the beginning
 * of would be appended to. Not sent if the client holds just that.
 */
function snapshotEvents({ held }: Run, { messages: { all: messages }, state }: History): AgUiEvent[] {
  const known = new Set(messages.map(({ id }) => id))
  const tail = held.slice(-messages.length).map(({ id }) => id)
  const isHeld = tail.length === messages.length && messages.every(({ id }, at) => id === tail[at])
  const stale = held.filter(({ id, role }) => role === 'reasoning' && !known.has(id)).map(({ id }) => id)
  return [...(isHeld ? [] : snapshotOf(messages, stale)), { type: 'STATE_SNAPSHOT', snapshot: state }]
}
