/** Reads the exchanges of a session from its log. */
import {
  EVENT_TYPES,
  type EventId,
  type EventOf,
  type EventType,
  type SessionEvent,
  typesWith,
} from '@cairn/protocol'
import { type Boundary, BOUNDARY_TYPES, isSaid, passBoundary } from './boundary.ts'
import type { Change } from './change.ts'
import { foldEvent } from './fold.ts'
import { emptyFold, type FoldState } from './state.ts'
import { type Events, readLog, tailLog } from './tail.ts'

/** A message of the session; `begins` its own exchange, or is part of the one before. */
export type SentMessage = { event: EventOf<'user.message'>; begins: boolean }

/** Messages of people and programs, oldest first: all, or those from the beginning of an exchange on. */
export async function listMessages(
  store: Events,
  sessionId: string,
  begin: EventId = 0,
): Promise<SentMessage[]> {
  const messages: SentMessage[] = []
  const boundary: Boundary = { running: false }
  for await (const event of readLog(store, sessionId, { after: Math.max(0, begin - 1) }, BOUNDARY_TYPES)) {
    const begins = passBoundary(boundary, event)
    if (event.type === 'user.message' && isSaid(event)) messages.push({ event, begins })
  }
  return messages
}

/** How many events before the given one are read first, and by what factor more if that is too few. */
const WINDOW = 2_000
const WIDER = 8

/** The latest messages, as many as `isEnough` asks for, from the beginning of an exchange on. */
export async function recentMessages(
  store: Events,
  { id, last_event_id }: { id: string; last_event_id: EventId },
  isEnough: (messages: readonly SentMessage[]) => boolean,
): Promise<SentMessage[]> {
  for (let window = WINDOW; ; window *= WIDER) {
    const begin = (await findExchange(store, id, Math.max(0, last_event_id - window))) ?? 0
    const messages = await listMessages(store, id, begin)
    if (begin === 0 || isEnough(messages)) return messages
  }
}

/**
 * The exchanges up to an event, last first. The log is read backwards, so the end of a long log costs as
 * little as a short log.
 */
export async function* exchangesBefore(
  store: Events,
  sessionId: string,
  last: EventId,
): AsyncGenerator<EventId> {
  let window = WINDOW
  for (let at = last; at > 0;) {
    const after = Math.max(0, at - window)
    const begun: EventId[] = []
    // Whether a turn ran before the window is not known. If so, its first message is taken for steering: it
    // is found in a wider window, and no later message depends on it.
    const boundary: Boundary = { running: after > 0 }
    for await (const event of readLog(store, sessionId, { after, last: at }, BOUNDARY_TYPES))
      if (passBoundary(boundary, event)) begun.unshift(event.id)
    yield* begun
    if (after === 0) return
    at = (begun.at(-1) ?? at + 1) - 1
    if (begun.length === 0) window *= WIDER
  }
}

/** The exchange that contains an event: the id of its first message; null before the first exchange. */
export async function findExchange(store: Events, sessionId: string, at: EventId): Promise<EventId | null> {
  for await (const begin of exchangesBefore(store, sessionId, at)) return begin
  return null
}

/** The exchange after the one that begins with `begin`, or the first one (0); null: there is none. */
export async function nextExchange(
  store: Events,
  sessionId: string,
  begin: EventId,
): Promise<EventId | null> {
  const boundary: Boundary = { running: begin > 0 }
  for await (const event of readLog(store, sessionId, { after: begin }, BOUNDARY_TYPES))
    if (passBoundary(boundary, event)) return event.id
  return null
}

/**
 * The changes of one event. `starts`: the exchange runs again, or for the first time. `isLate`: it came after
 * the next exchange began, and starts nothing here.
 */
export type Changed = {
  event: SessionEvent
  changes: readonly Change[]
  starts: boolean
  isLate?: true
}
/**
 * A page holds what its events changed. `last` is the last event read so far, and `atEnd` says that the log
 * had no more events when it was read.
 */
export type Page = { changed: readonly Changed[]; last: EventId; atEnd: boolean; isOver: boolean }

function change(fold: FoldState, event: SessionEvent): Changed {
  const { running } = fold
  const changes = foldEvent(fold, event)
  return { event, changes, starts: !running && fold.running }
}

/** A model call is given even if it changes nothing: APIs name its texts after it. */
const isShown = ({ event, changes, starts }: Changed): boolean =>
  changes.length > 0 || starts || event.type === 'llm.request'

/**
 * Follows an exchange from its first message: history, then live. Ends with the next exchange (`isOver`), or
 * when `signal` aborts.
 */
export async function* followExchange(
  store: Events,
  sessionId: string,
  begin: EventId,
  signal: AbortSignal,
): AsyncGenerator<Page> {
  const fold = emptyFold()
  let cursor = begin - 1
  for await (const { events, atEnd } of tailLog(store, sessionId, begin - 1, signal)) {
    const changed: Changed[] = []
    let isOver = false
    for (const event of events) {
      isOver = fold.exchange !== null && passBoundary({ ...fold.boundary }, event)
      if (isOver) break
      cursor = event.id
      changed.push(change(fold, event))
    }
    if (isOver) changed.push(...(await lateReactions(store, sessionId, cursor, fold)))
    if (signal.aborted) return
    yield { changed: changed.filter(isShown), last: cursor, atEnd, isOver }
    if (isOver) return
  }
}

/** What the server does before the first message of a person, such as the work on a goal, is shown too. */
const sessionFold = (begin: EventId): FoldState => ({ ...emptyFold(), exchange: begin === 0 ? 0 : null })

/**
 * Follows all exchanges of a session from the first message of one, or from the beginning of the log: 0. All
 * events are given, also those without changes.
 */
export async function* followSession(
  store: Events,
  sessionId: string,
  begin: EventId,
  signal: AbortSignal,
): AsyncGenerator<Pick<Page, 'changed' | 'atEnd'>> {
  const fold = sessionFold(begin)
  for await (const { events, atEnd } of tailLog(store, sessionId, Math.max(0, begin - 1), signal))
    yield { changed: events.map(event => change(fold, event)), atEnd }
}

/**
 * Decisions and answers that came after the next exchange began: they belong to the calls and questions of
 * this one, although the turns that they start do not.
 */
async function lateReactions(
  store: Events,
  sessionId: string,
  cursor: EventId,
  fold: FoldState,
): Promise<Changed[]> {
  const found: Changed[] = []
  const isOpen = (): boolean => Object.keys(fold.asks).length > 0 || Object.keys(fold.gates).length > 0
  if (!isOpen()) return found
  for await (const event of readLog(store, sessionId, { after: cursor }, typesWith('wakes'))) {
    const changes = isReaction(event) ? foldEvent(fold, event) : []
    if (changes.length > 0) found.push({ event, changes, starts: false, isLate: true })
    if (!isOpen()) break
  }
  return found
}

const isReaction = (event: SessionEvent): boolean =>
  event.type === 'user.message'
    ? event.data.synthetic !== undefined
    : event.type === 'ask_user_question.response'

/** The exchange as far as the log has it. */
export async function readExchange(store: Events, sessionId: string, begin: EventId): Promise<Changed[]> {
  const changed: Changed[] = []
  for await (const page of followExchange(store, sessionId, begin, new AbortController().signal)) {
    changed.push(...page.changed)
    if (page.atEnd) break
  }
  return changed
}

/** The stored changes of a session up to an event, from an exchange on or from the beginning (0). */
export async function* readSession(
  store: Events,
  sessionId: string,
  { begin, last }: { begin: EventId; last: EventId },
  types?: readonly EventType[],
): AsyncGenerator<Changed> {
  const fold = sessionFold(begin)
  for await (const event of readLog(store, sessionId, { after: Math.max(0, begin - 1), last }, types))
    yield change(fold, event)
}

/** All types but the deltas of texts, which their responses complete. */
const WHOLE: readonly EventType[] = EVENT_TYPES.filter(type => type !== 'llm.delta')

/** The changes of an exchange up to an event, without the deltas of texts. */
export async function readUntil(
  store: Events,
  sessionId: string,
  place: { begin: EventId; last: EventId },
): Promise<Changed[]> {
  const found: Changed[] = []
  for await (const changed of readSession(store, sessionId, place, WHOLE)) {
    const isNext = changed.changes.some(({ kind }) => kind === 'begun') && found.length > 0
    if (isNext) break
    if (isShown(changed)) found.push(changed)
  }
  return found
}

/** What an event asked a person: the question, null for an action; undefined: it asked nothing. */
export async function questionOf(
  store: Events,
  sessionId: string,
  ask: EventId,
): Promise<Extract<Change, { kind: 'asked' }>['question'] | undefined> {
  const begin = await findExchange(store, sessionId, ask)
  if (begin === null) return undefined
  for (const { changes } of await readUntil(store, sessionId, { begin, last: ask }))
    for (const change of changes) if (change.kind === 'asked' && change.ask === ask) return change.question
  return undefined
}
