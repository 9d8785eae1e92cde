/** The items of a conversation, in the order of the log, and pages of them. */
import type { SessionRow } from '@cairn/log'
import { AppError, type EventId } from '@cairn/protocol'
import { eventOf } from '../changes/change.ts'
import { exchangesBefore, findExchange, nextExchange, readExchange } from '../changes/exchange.ts'
import type { CompatDeps } from '../deps.ts'
import { ResponseWriter } from './frames.ts'
import { answerItem, decisionItem, type Item, saidItem } from './items.ts'
import type { ResponseRef } from './responses.ts'

type Store = Pick<CompatDeps, 'store'>

/** What people sent and what the agent made; items of a running response are as far as they are. */
async function itemsOf({ store }: Store, session_id: string, begin: EventId): Promise<Item[]> {
  const items: Item[] = []
  const writer = new ResponseWriter()
  for (const { event, changes, starts } of await readExchange(store, session_id, begin)) {
    if (starts) {
      items.push(...writer.output())
      writer.begin()
    }
    for (const change of changes) items.push(...inputOf(event.id, change))
    writer.take(event, changes)
  }
  return [...items, ...writer.output()]
}

/** The event that an item is of; null: it is not the id of an item. */
function eventOfItem(id: string): EventId | null {
  const digits = /^[a-z]+_([1-9]\d{0,15})$/.exec(id)?.[1]
  return digits === undefined ? null : Number(digits)
}

/** The item; null if the session has none of that id. */
export async function findItem(deps: Store, session_id: string, id: string): Promise<Item | null> {
  for (const begin of await exchangesOf(deps, session_id, id)) {
    const found = (await itemsOf(deps, session_id, begin)).find(item => item.id === id)
    if (found !== undefined) return found
  }
  return null
}

/** Where an item may be: its number is that of an event, or of a place within one. */
async function exchangesOf({ store }: Store, session_id: string, id: string): Promise<EventId[]> {
  const number = eventOfItem(id)
  if (number === null) return []
  const found = [number, eventOf(number)].map(event => findExchange(store, session_id, event))
  return [...new Set(await Promise.all(found))].filter(begin => begin !== null)
}

type Changes = Awaited<ReturnType<typeof readExchange>>[number]['changes']

function inputOf(event: number, change: Changes[number]): Item[] {
  switch (change.kind) {
    case 'begun':
    case 'steered':
      return [saidItem(change.message)]
    case 'decided':
      return [decisionItem(event, change)]
    case 'answered':
      return [answerItem(event, change)]
    default:
      return []
  }
}

/** What started a response. */
async function inputItemsOf({ store }: Store, { session, exchange, start }: ResponseRef): Promise<Item[]> {
  const changed = await readExchange(store, session.id, exchange)
  return changed
    .filter(({ event }) => event.id === start)
    .flatMap(({ event, changes }) => changes.flatMap(change => inputOf(event.id, change)))
}

const MAX_PAGE = 100
type PageQuery = { order: 'asc' | 'desc'; limit: number; after: string | null }

const bad = (param: string, why: string): AppError =>
  new AppError('bad_request', `Invalid '${param}': ${why}`, { extra: { param } })

function pageQuery(query: URLSearchParams): PageQuery {
  const order = query.get('order') ?? 'desc'
  const limit = query.get('limit') ?? '20'
  if (order !== 'asc' && order !== 'desc') throw bad('order', 'must be asc or desc.')
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_PAGE)
    throw bad('limit', `must be between 1 and ${MAX_PAGE}.`)
  return { order, limit: Number(limit), after: query.get('after') }
}

function pageOf(rest: readonly Item[], limit: number) {
  const data = rest.slice(0, limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: rest.length > data.length,
  }
}

/** What started a response, as a page. */
export async function inputPage(deps: Store, ref: ResponseRef, query: URLSearchParams) {
  const { order, limit, after } = pageQuery(query)
  const items = await inputItemsOf(deps, ref)
  const ordered = order === 'asc' ? items : items.toReversed()
  return pageOf(after === null ? ordered : ordered.slice(placeOf(ordered, after) + 1), limit)
}

function placeOf(items: readonly Item[], after: string): number {
  const at = items.findIndex(({ id }) => id === after)
  if (at < 0) throw bad('after', 'must be the id of an item of this list.')
  return at
}

/** A page of the items of a conversation. Only the exchanges that it is of are read. */
export async function itemsPage(deps: Store, session: SessionRow, query: URLSearchParams) {
  const { order, limit, after } = pageQuery(query)
  const kept: Item[] = []
  let skipsTo = after
  for await (const begin of exchangesFrom(deps, session, order, after)) {
    const items = await itemsOf(deps, session.id, begin)
    const ordered = order === 'asc' ? items : items.toReversed()
    kept.push(...(skipsTo === null ? ordered : ordered.slice(placeOf(ordered, skipsTo) + 1)))
    skipsTo = null
    if (kept.length > limit) break
  }
  return pageOf(kept, limit)
}

async function* exchangesFrom(
  deps: Store,
  { id: session_id, last_event_id }: SessionRow,
  order: PageQuery['order'],
  after: string | null,
): AsyncGenerator<EventId> {
  const { store } = deps
  let from: EventId | null = null
  if (after !== null)
    for (const begin of await exchangesOf(deps, session_id, after))
      if ((await itemsOf(deps, session_id, begin)).some(({ id }) => id === after)) from = begin
  if (after !== null && from === null) throw bad('after', 'must be the id of an item of this list.')
  if (order === 'desc') {
    yield* exchangesBefore(store, session_id, from ?? last_event_id)
    return
  }
  for (let at = from ?? (await nextExchange(store, session_id, 0)); at !== null;) {
    yield at
    at = await nextExchange(store, session_id, at)
  }
}
