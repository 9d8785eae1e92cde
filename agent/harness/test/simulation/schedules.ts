/** Schedules in the simulation: what people do about them, and what must be so of them in the end. */
import type { LogStore, StoreSchedule } from '@cairn/log'
import type { Config, ScheduleInput, SessionEvent } from '@cairn/protocol'
import {
  cancelSchedule,
  changeSchedule,
  createSchedule,
  type Deps,
  pauseSchedule,
  resumeSchedule,
  runSchedule,
} from '@cairn/sessions'
import { alice } from '../turn/stage.ts'
import type { Act } from './people.ts'
import type { Truth } from './memory-store.ts'
import type { World } from './world.ts'

const MINUTE_MS = 60_000
const live = { org_id: alice.org_id, status: ['active', 'paused'], limit: 100 } as const

export function scheduleActs(world: World, deps: Deps, config: Config, id: string): readonly Act[] {
  const withOne = async (run: (schedule: StoreSchedule) => Promise<unknown>): Promise<void> => {
    const { schedules } = await deps.store.schedules.list({ ...live, session_id: id })
    const schedule = schedules[world.between(0, schedules.length - 1)]
    if (schedule !== undefined) await run(schedule)
  }
  const create = (): Promise<unknown> => {
    // Whoever makes it may have a clock that is behind: so its first time comes at any moment.
    const now = deps.now() - world.between(0, MINUTE_MS - 1)
    return createSchedule({ ...deps, now: () => now }, config, alice, id, wishOf(world, now))
  }
  const change = ({ id: schedule }: StoreSchedule): Promise<unknown> =>
    changeSchedule(
      deps,
      config,
      schedule,
      world.pick([
        [1, { name: `renamed ${world.newId()}` }],
        [1, { every_s: 60 }],
        [1, { max_runs: world.between(1, 4) }],
      ]),
    )
  return [
    [1.5, ['a schedule', create]],
    [1.2, ['a run by hand', () => withOne(({ id: schedule }) => runSchedule(deps, schedule))]],
    [0.4, ['a pause of a schedule', () => withOne(({ id: schedule }) => pauseSchedule(deps, schedule))]],
    [0.5, ['a resume of a schedule', () => withOne(({ id: schedule }) => resumeSchedule(deps, schedule))]],
    [0.3, ['a change of a schedule', () => withOne(change)]],
    [0.2, ['a cancel of a schedule', () => withOne(({ id: schedule }) => cancelSchedule(deps, schedule))]],
  ]
}

function wishOf(world: World, now: number): ScheduleInput {
  const at = new Date(now + MINUTE_MS + world.between(1, 30_000)).toISOString()
  const when = world.pick<Partial<ScheduleInput>>([
    [3, { every_s: 60, jitter_s: world.between(0, 20) }],
    [1, { cron: '* * * * *' }],
    [1, { at }],
  ])
  return {
    prompt: `look ${world.newId()}`,
    ...when,
    overlap: world.pick([
      [1, 'skip'],
      [1, 'queue'],
      [1, 'replace'],
    ]),
    ...(world.chance(0.4) ? { on_result: 'wake' } : {}),
    ...(world.chance(0.3) ? { missed: 'skip' } : {}),
    ...(world.chance(0.4) ? { max_runs: world.between(1, 3) } : {}),
    ...(world.chance(0.4) ? { expires_at: new Date(now + world.between(61, 120) * 1000).toISOString() } : {}),
  }
}

/** Ends what is left of them, so that the simulation comes to an end. */
export async function endSchedules(deps: Deps): Promise<void> {
  const { schedules } = await deps.store.schedules.list(live)
  for (const { id } of schedules) await cancelSchedule(deps, id)
}

export const hasLiveSchedules = (truth: Truth): boolean =>
  truth.resources.schedules.list({ ...live, limit: 1 }).schedules.length > 0

type Run = Awaited<ReturnType<LogStore['schedules']['runs']>>['runs'][number]
const runsOf = (truth: Truth, id: string): Run[] => truth.resources.schedules.runs(id, { limit: 1000 }).runs
const schedulesOf = (truth: Truth): StoreSchedule[] =>
  truth.resources.schedules.list({ org_id: alice.org_id, limit: 1000 }).schedules

/** Every slot that passed is a row or counted in one, and every run is told once, as its row says. */
export function checkScheduleRows(
  truth: Truth,
  events: ReadonlyMap<string, readonly SessionEvent[]>,
): string[] {
  return schedulesOf(truth).flatMap(({ id, session_id, status, state }) => {
    const found: string[] = []
    const runs = runsOf(truth, id)
    const slots = runs.filter(({ manual }) => !manual).reduce((sum, run) => sum + 1 + run.collapsed, 0)
    if (slots !== state['slot_count'])
      found.push(`${String(state['slot_count'])} slots passed, and its rows stand for ${slots}`)
    const began = runs.filter(run => run.run_session_id !== null)
    if (began.length !== state['run_count'])
      found.push(`${String(state['run_count'])} runs began, and there are ${began.length}`)
    for (const run of began) found.push(...checkRunRow(truth, run, events.get(session_id) ?? []))
    for (const { status: is, slot_at } of runs)
      if (is === 'queued' && state['running'] === null) found.push(`slot ${slot_at} waits, and nothing runs`)
    if (status === 'active' || status === 'paused') found.push(`it is ${status}, and nobody ended it`)
    return found.map(what => `schedule ${id}: ${what}`)
  })
}

function checkRunRow(
  truth: Truth,
  { run_session_id, status, reason }: Run,
  log: readonly SessionEvent[],
): string[] {
  const id = run_session_id ?? ''
  const told = log.filter(event => event.type === 'loop.result' && event.data.run_session_id === id)
  const outcome = told[0]?.type === 'loop.result' ? told[0].data.outcome : null
  const isOpen = truth.resources.links.get(id)?.status === 'open'
  if (status === 'running')
    return isOpen && outcome === null ? [] : [`run ${id} is running in its row, and ${outcome ?? 'gone'}`]
  return reason === outcome && !isOpen && (status === 'success') === (outcome === 'success')
    ? []
    : [`run ${id} is ${status} (${reason}) in its row, and told as ${outcome ?? 'nothing'}`]
}

/** How often the rarer things happened to schedules. */
export function countSchedules(truth: Truth): Record<string, number> {
  const schedules = schedulesOf(truth)
  const rows = schedules.flatMap(({ id }) => runsOf(truth, id))
  const of = (test: (run: Run) => boolean): number => rows.filter(test).length
  return {
    schedules: schedules.length,
    schedule_ends: schedules.filter(({ status }) => status !== 'cancelled').length,
    runs_by_hand: of(({ manual }) => manual),
    replaced_runs: of(({ reason }) => reason === 'cancelled'),
    slots_in_overlap: of(({ reason }) => reason === 'overlap'),
    slots_in_pause: of(({ reason }) => reason === 'paused'),
    slots_in_backoff: of(({ reason }) => reason === 'backoff'),
  }
}
