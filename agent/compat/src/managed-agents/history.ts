/** The events of a session, in pages and as a stream. */
import { AppError, type EventId } from '@cairn/protocol'
import { eventOf, positionOf, type Position } from '../changes/change.ts'
import { findExchange, followSession } from '../changes/exchange.ts'
import type { CompatDeps } from '../deps.ts'
import { EventWriter, type Frame } from './events.ts'

type Store = Pick<CompatDeps, 'store'>

/** The events that a page contains. */
type Filter = { types: readonly string[] | null; from: number; before: number }
type PageQuery = { order: 'asc' | 'desc'; limit: number; after: Position | null; filter: Filter }

const MAX_PAGE = 1000
const DEFAULT_PAGE = 100

/** A parameter that may be repeated, with or without brackets, or be a list with commas. */
export const listOf = (query: URLSearchParams, name: string): string[] =>
  [...query.getAll(name), ...query.getAll(`${name}[]`)].flatMap(text => text.split(',')).filter(Boolean)

const bad = (param: string, why: string): AppError => new AppError('bad_request', `${param}: ${why}`)

export function pageQuery(query: URLSearchParams): PageQuery {
  const order = query.get('order') ?? 'asc'
  if (order !== 'asc' && order !== 'desc') throw bad('order', 'must be asc or desc.')
  const limit = query.get('limit') ?? String(DEFAULT_PAGE)
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_PAGE)
    throw bad('limit', `must be between 1 and ${MAX_PAGE}.`)
  const page = query.get('page')
  const types = listOf(query, 'types')
  const filter = { types: types.length === 0 ? null : types, ...rangeOf(query) }
  return { order, limit: Number(limit), after: page === null ? null : parsePosition('page', page), filter }
}

/** `from` is inclusive, `before` exclusive. */
export function rangeOf(query: URLSearchParams): { from: number; before: number } {
  const at = (name: string): number | null => {
    const text = query.get(`created_at[${name}]`)
    const time = text === null ? null : Date.parse(text)
    if (time !== null && Number.isNaN(time)) throw bad(`created_at[${name}]`, 'must be an RFC 3339 time.')
    return time
  }
  const [gt, gte, lt, lte] = [at('gt'), at('gte'), at('lt'), at('lte')]
  return {
    from: Math.max(gte ?? -Infinity, gt === null ? -Infinity : gt + 1),
    before: Math.min(lt ?? Infinity, lte === null ? Infinity : lte + 1),
  }
}

export function parsePosition(param: string, text: string): Position {
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw bad(param, 'must be a cursor of this list.')
  return Number(text)
}

export async function pageOf(
  { store }: Store,
  session_id: string,
  query: PageQuery,
): Promise<{ data: Frame['data'][]; next_page: string | null }> {
  const kept: Frame[] = []
  const pages =
    query.order === 'asc' ? forwards({ store }, session_id, query) : backwards({ store }, session_id, query)
  for await (const frame of pages) {
    if (!isKept(frame, query.filter)) continue
    kept.push(frame)
    if (kept.length > query.limit) break
  }
  const shown = kept.slice(0, query.limit)
  const more = kept.length > query.limit ? String(shown.at(-1)?.position) : null
  return { data: shown.map(({ data }) => data), next_page: more }
}

const isKept = ({ preview, data, created_at }: Frame, { types, from, before }: Filter): boolean => {
  const time = Date.parse(created_at)
  return !preview && (types === null || types.includes(data.type)) && time >= from && time < before
}

async function* forwards({ store }: Store, session_id: string, { after }: PageQuery): AsyncGenerator<Frame> {
  const seen = after ?? 0
  const begin = seen === 0 ? 0 : ((await findExchange(store, session_id, eventOf(seen))) ?? 0)
  for await (const frame of stored({ store }, session_id, begin, Infinity))
    if (frame.position > seen) yield frame
}

/** The exchanges of the session from its last to its first. */
async function* backwards({ store }: Store, session_id: string, { after }: PageQuery): AsyncGenerator<Frame> {
  const end = after ?? Infinity
  let last: EventId =
    after === null ? ((await store.sessions.get(session_id))?.last_event_id ?? 0) : eventOf(end)
  while (last > 0) {
    const begin = (await findExchange(store, session_id, last)) ?? 0
    const frames: Frame[] = []
    for await (const frame of stored({ store }, session_id, begin, last))
      if (frame.position < end) frames.push(frame)
    yield* frames.toReversed()
    last = begin - 1
  }
}

async function* stored(
  { store }: Store,
  session_id: string,
  begin: EventId,
  last: EventId,
): AsyncGenerator<Frame> {
  const writer = new EventWriter()
  const leave = new AbortController()
  for await (const { changed, atEnd } of followSession(store, session_id, begin, leave.signal)) {
    for (const each of changed) {
      if (each.event.id > last) return
      yield* writer.take(each)
    }
    if (atEnd) return
  }
}

/** The event of a type that shows a record of the log; null: none does. */
export async function eventOfRecord(
  deps: Store,
  session_id: string,
  { id, type }: { id: EventId; type: string },
): Promise<Frame['data'] | null> {
  const begin = (await findExchange(deps.store, session_id, id)) ?? 0
  for await (const { position, data } of stored(deps, session_id, begin, id))
    if (eventOf(position) === id && data.type === type) return data
  return null
}

/** Where a stream begins that names no position: after the last event. */
export const positionAfter = (last: EventId): Position => positionOf(last + 1, 0) - 1

/** The frames after a position, then live; with `previews` also the texts of these types as they are written. */
export async function* followEvents(
  { store }: Store,
  session_id: string,
  { seen, previews }: { seen: Position; previews: readonly string[] },
  signal: AbortSignal,
): AsyncGenerator<Frame[]> {
  const begin = (await findExchange(store, session_id, eventOf(seen))) ?? 0
  const writer = new EventWriter()
  const isShown = ({ preview, data, position }: Frame): boolean =>
    position > seen && (!preview || previews.includes(previewed(data)))
  for await (const { changed } of followSession(store, session_id, begin, signal)) {
    const frames = changed.flatMap(each => writer.take(each)).filter(isShown)
    if (frames.length > 0) yield frames
  }
}

/** The type of the event that a preview is of; only messages have deltas. */
const previewed = ({ event }: Frame['data']): string =>
  typeof event === 'object' && event !== null && 'type' in event ? String(event.type) : 'agent.message'
