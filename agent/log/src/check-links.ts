/**
 * Checks links, tasks and timers against the logs: every row was changed in the commit of an event, so the
 * events of a whole store determine each row. For `cairn doctor`; each problem names the correct value.
 */
import type { EventData, EventType, SessionBudget } from '@cairn/protocol'
import { checkTasks, type TaskEvents } from './check-tasks.ts'
import type { StoredLink, StoredTimer } from './links.ts'
import type { StoredTask } from './tasks.ts'

type Data = Readonly<Record<string, unknown>>
type ReportedEnd = { session: string; id: number; data: Data }
type ReportedOutcome = ReportedEnd & { status: 'complete' | 'failed' }
type Coordination = {
  links: readonly StoredLink[]
  tasks: readonly StoredTask[]
  timers: readonly StoredTimer[]
}
export type LinkCheck = {
  /** Call for each session. */
  begin(session: string): void
  /** Call for each event of each log, in log order. */
  see(session: string, id: number, type: EventType, data: Data): void
  /** Call after all logs. */
  problems(rows: Coordination): string[]
}

type Seen = {
  sessions: Set<string>
  spawned: Map<string, ReportedEnd>
  outcomes: Map<string, ReportedOutcome>
  /** The first event that ended a session, by session. */
  ended: Map<string, number>
  /** Calls of delegate_task with a result, whose workers no longer have a waiting parent. */
  closed: Set<string>
  tasks: TaskEvents
}

export function createLinkCheck(): LinkCheck {
  const seen: Seen = {
    sessions: new Set(),
    spawned: new Map(),
    outcomes: new Map(),
    ended: new Map(),
    closed: new Set(),
    tasks: { begun: new Map(), over: new Map(), blocked: new Map() },
  }
  return {
    begin: session => void seen.sessions.add(session),
    see(session, id, type, data) {
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
        case 'tool.result':
          if (data['name'] === 'delegate_task')
            seen.closed.add(callKey(session, String(data['tool_call_id'])))
          break
        default:
      }
      checkTaskLink(seen.tasks, told, type)
    },
    problems: rows => [
      ...rows.links.flatMap(link => checkLink(link, seen)),
      ...unlinked(rows.links, seen),
      ...checkTasks(rows, seen.tasks),
      ...checkTimers(rows, seen),
    ],
  }
}

const callKey = (session: string, call: string): string => `${session} ${call}`

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

function checkTaskLink(tasks: TaskEvents, { session, id, data }: ReportedEnd, type: EventType): void {
  const told = { session, id }
  if (type === 'task.failed') tasks.over.set(String(data['task_id']), { ...told, as: 'failed' })
  else if (type === 'task.blocked') {
    const { task_id, block_call_id } = data as EventData<'task.blocked'>
    tasks.blocked.set(task_id, { ...told, call: block_call_id })
  } else if (typeof data['task_id'] !== 'string') return
  else if (type === 'worker.spawned')
    tasks.begun.set(data['task_id'], {
      ...told,
      attempt: Number(data['attempt']),
      worker: String(data['worker_id']),
    })
  else if (type === 'worker.complete') tasks.over.set(data['task_id'], { ...told, as: 'done' })
}

function checkTimers({ links, timers }: Coordination, { sessions, closed }: Seen): string[] {
  const found: string[] = []
  const there = new Set(timers.map(({ id }) => id))
  const byChild = new Map(links.map(link => [link.child_id, link]))
  for (const { id, kind, session_id, data } of timers) {
    if (!sessions.has(session_id)) {
      found.push(`timer ${id}: session ${session_id} does not exist: the timer should not exist`)
      continue
    }
    const { child_id, of } = JSON.parse(data) as { child_id?: string; of?: string }
    const child = kind === 'stale' ? child_id : kind === 'deadline' ? of : undefined
    const link = child === undefined ? undefined : byChild.get(child)
    if (link !== undefined && link.status !== 'open')
      found.push(`timer ${id}: worker ${link.child_id} has ended: the timer should not exist`)
  }
  const missing = (id: string, why: string): void => {
    if (!there.has(id)) found.push(`timer ${id} is missing: ${why}`)
  }
  for (const { child_id, parent_id, kind, status, tool_call_id } of links) {
    if (kind !== 'delegation' || status !== 'open' || tool_call_id === null) continue
    missing(`stale:${child_id}`, `an idle worker ${child_id} would not be reported`)
    if (!closed.has(callKey(parent_id, tool_call_id)))
      missing(
        `delegation:${parent_id}:${tool_call_id}`,
        `worker ${child_id} would not be stopped at its timeout`,
      )
  }
  return found
}
