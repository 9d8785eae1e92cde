/**
 * Checks links against the logs: every row was changed in the commit of an event, so the events of a whole
 * store determine each row.
 */
import type { EventType, SessionBudget } from '@cairn/protocol'
import type { Resource, ResourceCheck } from '../../engine/resource.ts'
import type { StoredLink } from './link.ts'

type Data = Readonly<Record<string, unknown>>
type ReportedEnd = { session: string; id: number; data: Data }
type ReportedOutcome = ReportedEnd & { status: 'complete' | 'failed' }
type Seen = {
  spawned: Map<string, ReportedEnd>
  outcomes: Map<string, ReportedOutcome>
  /** The first event that ended a session, by session. */
  ended: Map<string, number>
}

export const linkCheck: NonNullable<Resource<never, object>['check']> = {
  rows: { links: `SELECT * FROM links` },
  create: createLinkCheck,
}

function createLinkCheck(): ResourceCheck {
  const seen: Seen = { spawned: new Map(), outcomes: new Map(), ended: new Map() }
  return {
    see(session: string, id: number, type: EventType, data: Data) {
      const told: ReportedEnd = { session, id, data }
      const worker = String(data['worker_id'])
      switch (type) {
        case 'worker.spawned':
          seen.spawned.set(worker, told)
          break
        case 'worker.complete':
        case 'worker.failed':
          seen.outcomes.set(worker, { ...told, status: type === 'worker.complete' ? 'complete' : 'failed' })
          break
        case 'loop.result':
          seen.outcomes.set(String(data['run_session_id']), {
            ...told,
            status: data['outcome'] === 'success' ? 'complete' : 'failed',
          })
          break
        case 'session.complete':
        case 'session.fail':
          if (!seen.ended.has(session)) seen.ended.set(session, id)
          break
        default:
      }
    },
    problems({ links = [] }) {
      const rows = links as StoredLink[]
      return [...rows.flatMap(link => checkLink(link, seen)), ...unlinked(rows, seen)]
    },
  }
}

function checkLink(link: StoredLink, seen: Seen): string[] {
  const { child_id, parent_id, status } = link
  const say = (what: string): string => `link of ${child_id}: ${what}`
  const spawn = seen.spawned.get(child_id)
  const outcome = seen.outcomes.get(child_id)
  const end = seen.ended.get(child_id)
  // A run is started by its schedule, and its result is its outcome.
  const isRun = link.kind === 'run'
  if (!isRun && spawn?.session !== parent_id)
    return [
      say(
        `the log of ${parent_id} does not say that it was spawned` +
          `${spawn === undefined ? '' : `; that of ${spawn.session} does, which should be its parent`}`,
      ),
    ]
  const found =
    spawn === undefined
      ? []
      : differences(link, fieldsOf(spawn.data)).map(({ key, is, right }) =>
          say(`${key} is ${is}, its worker.spawned (event ${spawn.id} of ${parent_id}) says ${right}`),
        )
  if (outcome === undefined) {
    if (status !== 'open')
      found.push(say(`it is ${status}, but the log of ${parent_id} has no outcome: it should be open`))
    if (end !== undefined)
      found.push(say(`it has ended (event ${end}), but ${parent_id} has no outcome: it is missing`))
    return found
  }
  const where = `event ${outcome.id} of ${outcome.session}`
  if (outcome.session !== parent_id) found.push(say(`its outcome is ${where}, its parent is ${parent_id}`))
  if (status !== outcome.status)
    return [...found, say(`it is ${status}, its outcome (${where}) says that it should be ${outcome.status}`)]
  if (end === undefined) found.push(say(`it is ${status}, but its own log has no end`))
  const said = {
    ...pick(outcome.data, USED),
    ...(isRun ? {} : { cause: outcome.data['cause'] ?? null }),
  }
  for (const { key, is, right } of differences(link, said))
    found.push(say(`${key} is ${is}, its outcome (${where}) says ${right}`))
  return found
}

const USED = ['input_tokens', 'output_tokens', 'cost_usd'] as const
const TIES = ['kind', 'depth', 'tool_call_id', 'task_id', 'attempt'] as const

const pick = (data: Data, keys: readonly string[]): Data =>
  Object.fromEntries(keys.map(key => [key, data[key] ?? null]))

/** The fields of a link that worker.spawned determines. */
function fieldsOf(data: Data): Data {
  const { max_tokens = 0, max_cost_usd = 0 } = (data['budget'] ?? {}) as SessionBudget
  return { ...pick(data, TIES), reserved_tokens: max_tokens, reserved_cost_usd: max_cost_usd }
}

const differences = (link: StoredLink, said: Data): { key: string; is: string; right: string }[] => {
  const row: Data = link
  return Object.keys(said)
    .filter(key => (row[key] ?? null) !== said[key])
    .map(key => ({ key, is: String(row[key]), right: String(said[key]) }))
}

function unlinked(links: readonly StoredLink[], { spawned, outcomes }: Seen): string[] {
  const linked = new Set(links.map(({ child_id }) => child_id))
  const without = (told: ReadonlyMap<string, ReportedEnd>, what: string): string[] =>
    [...told].flatMap(([worker, { session, id }]) =>
      linked.has(worker) ? [] : [`session ${session}: event ${id} ${what} ${worker}, which has no link`],
    )
  return [...without(spawned, 'spawns'), ...without(outcomes, 'is the outcome of')]
}
