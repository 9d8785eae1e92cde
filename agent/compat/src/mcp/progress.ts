/** How far an exchange is, folded from its log: what the tools and tasks of the MCP server report. */
import type { SessionRow } from '@cairn/log'
import type { EventId } from '@cairn/protocol'
import type { Change, End } from '../changes/change.ts'
import { type Changed, followExchange, listMessages } from '../changes/exchange.ts'
import type { CompatDeps } from '../deps.ts'

type Store = Pick<CompatDeps, 'store'>

export type ExchangeRef = { session: SessionRow; exchange: EventId }

export type OpenGate = Extract<Change, { kind: 'gate' }>
export type OpenAsk = Extract<Change, { kind: 'asked' }>
/** What a person is asked; the key is the event that asked. */
export type OpenItems = ReadonlyMap<EventId, OpenGate | OpenAsk>

export type Progress = {
  exchange: EventId
  /** Null while a turn runs. */
  end: End | null
  /** The last text of the agent. */
  answer: string
  open: OpenItems
  created_at: string
  updated_at: string
  /** The last event that changed the exchange. */
  last: EventId
  /** The next exchange follows: this one does not change any more. */
  isOver: boolean
}

type Fold = Omit<Progress, 'answer' | 'open'> & {
  texts: Map<EventId, string>
  open: Map<EventId, OpenGate | OpenAsk>
}

const emptyFold = (exchange: EventId): Fold => ({
  exchange,
  end: null,
  texts: new Map(),
  open: new Map(),
  created_at: '',
  updated_at: '',
  last: exchange,
  isOver: false,
})

function take(fold: Fold, { event, changes, starts }: Changed): void {
  fold.created_at ||= event.created_at
  fold.updated_at = event.created_at
  fold.last = event.id
  if (starts) fold.end = null
  for (const change of changes)
    switch (change.kind) {
      case 'text':
        if (change.phase === 'delta')
          fold.texts.set(change.part, (fold.texts.get(change.part) ?? '') + change.text)
        break
      case 'reset':
        fold.texts.delete(change.part)
        break
      case 'gate':
        fold.open.set(change.gate, change)
        break
      case 'asked':
        fold.open.set(change.ask, change)
        break
      case 'decided':
        fold.open.delete(change.gate)
        break
      case 'answered':
        fold.open.delete(change.ask)
        break
      case 'ended':
        fold.end = change.end
        break
    }
}

const shown = ({ texts, ...fold }: Fold): Progress => ({
  ...fold,
  answer: [...texts.values()].findLast(text => text.trim() !== '') ?? '',
  open: new Map(fold.open),
})

/** The progress at each end of the log; ends when the exchange is over, or with `signal`. */
export async function* followProgress(
  { store }: Store,
  { session, exchange }: ExchangeRef,
  signal: AbortSignal,
): AsyncGenerator<Progress> {
  const fold = emptyFold(exchange)
  for await (const { changed, atEnd, isOver } of followExchange(store, session.id, exchange, signal)) {
    for (const each of changed) take(fold, each)
    fold.isOver = isOver
    if (atEnd || isOver) yield shown(fold)
  }
}

export async function readProgress(deps: Store, ref: ExchangeRef): Promise<Progress> {
  for await (const progress of followProgress(deps, ref, new AbortController().signal)) return progress
  throw new Error(`[mcp] exchange ${ref.exchange} of session ${ref.session.id} has no end in the log`)
}

/** The last exchange of a session; null: it has none. */
export async function lastExchange({ store }: Store, session: SessionRow): Promise<ExchangeRef | null> {
  const firstMessage = (await listMessages(store, session.id)).findLast(({ begins }) => begins)
  return firstMessage === undefined ? null : { session, exchange: firstMessage.event.id }
}

/** The exchange that a message is part of. */
export async function exchangeOf(
  { store }: Store,
  session: SessionRow,
  message: EventId,
): Promise<ExchangeRef> {
  const firstMessage = (await listMessages(store, session.id)).findLast(
    ({ begins, event }) => begins && event.id <= message,
  )
  if (firstMessage === undefined)
    throw new Error(`[mcp] message ${message} of ${session.id} is of no exchange`)
  return { session, exchange: firstMessage.event.id }
}

/** Whether nothing runs, or a person is asked: there is something to report. */
export const isAtRest = ({ end, open }: Progress): boolean => end !== null || open.size > 0
