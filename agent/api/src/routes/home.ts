/** The first page in one request: lists of the principal's own resources, each with a small maximum. */
import type { LogStore, SessionQuery, SessionRow } from '@cairn/log'
import { type AnswerOf, ERROR_CATEGORIES, type Principal, waitsFor } from '@cairn/protocol'
import { markItems, nameDeciders, viewSchedule, visibleTo } from '@cairn/sessions'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'
import { shapedSessions } from './session-view.ts'

type Home = AnswerOf<'home'>
type Owner = ReturnType<typeof visibleTo>

const MAX_NEEDS = 100
const MAX_RUNNING = 20
const MAX_FAILED = 5
const MAX_RECENT = 8
const MAX_NEXT = 3
const DAY_MS = 86_400_000
const SPEND_DAYS = 7
/** Days after which a failure is history. */
const FAILED_DAYS = 7
const SCHEDULES_PAGE = 200

const NEEDS = ['input_required', 'action_required', 'governance_gate'] as const

async function spendOf(store: LogStore, owner: Owner, now: number): Promise<Home['spend']> {
  const today = now - (now % DAY_MS)
  const since = today - (SPEND_DAYS - 1) * DAY_MS
  const rows = await store.search.usage({ ...owner, since, until: today + DAY_MS, by: 'agent' })
  const days = Array.from({ length: SPEND_DAYS }, (_, at) => {
    const day = since + at * DAY_MS
    const cost_usd = rows.filter(row => row.day === day).reduce((sum, row) => sum + row.cost_usd, 0)
    return { day: new Date(day).toISOString().slice(0, 10), cost_usd }
  })
  const unpriced = rows.some(row => row.day === today && row.unpriced_calls > 0)
  return { today_usd: days.at(-1)?.cost_usd ?? 0, unpriced, days }
}

/** Schedules are listed by creation, so all active ones are read. */
async function nextRuns(store: LogStore, owner: Owner): Promise<Home['next']> {
  const runs: Home['next'] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.schedules.list({
      ...owner,
      status: ['active'],
      limit: SCHEDULES_PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { id, name, prompt, next } of page.schedules.map(viewSchedule))
      if (next[0] !== undefined)
        runs.push({ schedule_id: id, name: name ?? prompt.slice(0, 120), at: next[0] })
    cursor = page.next_cursor
  }
  return runs.toSorted((a, b) => a.at.localeCompare(b.at)).slice(0, MAX_NEXT)
}

/** Items of the inbox that wait for a decision, newest first. */
async function needsOf(services: Services, principal: Principal): Promise<Home['needs']> {
  const { items } = await services.store.inbox.list({
    ...visibleTo(principal),
    status: ['pending'],
    kind: NEEDS,
    limit: MAX_NEEDS,
  })
  const open = (await markItems(services, principal, items)).filter(
    ({ snoozed_until }) => snoozed_until === undefined,
  )
  return { count: open.length, items: await nameDeciders(services, principal.org_id, open) }
}

const categoryOf = (category: string | undefined): Home['failed']['sessions'][number]['category'] =>
  ERROR_CATEGORIES.find(known => known === category) ?? null

export const home: Handler<'home'> = async ({ services, principal }) => {
  const { store } = services
  const owner = visibleTo(principal)
  const now = services.now()
  const roots = (query: Pick<SessionQuery, 'state' | 'since' | 'limit'>): Promise<SessionRow[]> =>
    store.sessions.list({ ...owner, parent_id: null, sort: 'updated', ...query }).then(page => page.sessions)
  const [needs, spend, next, working, failing, latest] = await Promise.all([
    needsOf(services, principal),
    spendOf(store, owner, now),
    nextRuns(store, owner),
    roots({ state: ['running'], limit: MAX_RUNNING }),
    roots({ state: ['failed'], since: now - FAILED_DAYS * DAY_MS, limit: MAX_FAILED }),
    roots({ state: ['idle', 'done', 'paused'], limit: MAX_RUNNING + MAX_RECENT }),
  ])
  const others = await shapedSessions(
    services,
    // A session with neither an event nor a title has nothing to show.
    latest.filter(({ title, last_event_id }) => title !== null || last_event_id > 0),
  )
  // A session whose turn has ended is running while its workers are.
  const hasWorkers = ({ session }: (typeof others)[number]): boolean => waitsFor(session) > 0
  const running = [...(await shapedSessions(services, working)), ...others.filter(hasWorkers)]
  const failed = await shapedSessions(services, failing)
  return {
    needs,
    running: { count: running.length, sessions: running.map(({ session }) => session) },
    failed: {
      count: failed.length,
      sessions: failed.map(({ session, shape }) => ({
        session,
        category: categoryOf(shape?.failure?.category),
        error: shape?.failure?.error ?? null,
      })),
    },
    recent: others
      .filter(other => !hasWorkers(other))
      .slice(0, MAX_RECENT)
      .map(({ session }) => session),
    spend,
    next,
  }
}
