/** Schedules: rows with one due time each, and the outcomes of their scheduled times. */
import { expect, test } from 'vitest'
import { CommitRefused, type LogStore, type NewSchedule, type RowChange, type ScheduleRun } from '@cairn/log'
import type { Bench } from './bench.ts'
import { newSession } from './fixture.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const most = { most_of_session: 3, most_of_owner: 4 }
const schedule = (id: string, due_at: number | null, more: Partial<NewSchedule> = {}): NewSchedule => {
  const { org_id, created_by } = newSession('root')
  return {
    id,
    session_id: 'root',
    org_id,
    created_by,
    spec: { prompt: id },
    state: { n: 0 },
    due_at,
    ...more,
  }
}
const add = (...given: Parameters<typeof schedule>): RowChange => ({
  do: 'schedule.add',
  schedule: schedule(...given),
  ...most,
})
const move = (id: string, version: number, due_at: number | null, state: object = {}): RowChange => ({
  do: 'schedule.move',
  id,
  session_id: 'root',
  version,
  status: 'active',
  state: { ...state },
  due_at,
})
const put = (slot_at: number, more: Partial<ScheduleRun> = {}): RowChange => ({
  do: 'run.put',
  run: {
    schedule_id: 's',
    slot_at,
    last_slot_at: slot_at,
    status: 'running',
    reason: null,
    collapsed: 0,
    manual: false,
    run_session_id: null,
    ...more,
  },
})

/** The guard that rejected the commit. */
const refused = (committing: Promise<unknown>): Promise<string> =>
  committing.then(
    () => 'nothing',
    (error: unknown) => (error instanceof CommitRefused ? error.refusal : String(error)),
  )

export function defineSchedules({ open }: Bench): void {
  async function openRoot() {
    const opened = await open()
    await opened.store.sessions.create(newSession('root'))
    return opened
  }
  const act = (store: LogStore, ...rows: RowChange[]) =>
    store.commit({ session_id: 'root', events: [], rows })

  test('a schedule is due once at its time, by the clock of the store', async () => {
    const { store, clock } = await openRoot()
    const due = clock.now() + MINUTE
    await act(store, add('s', due))
    expect(await store.timers.claim('w', 10, 30_000)).toEqual([])
    clock.advance(MINUTE)
    const [timer] = await store.timers.claim('w', 10, 30_000)
    expect(timer).toMatchObject({
      kind: 'schedule',
      session_id: 'root',
      due_at: due,
      claimed_at: due,
      data: { id: 's' },
    })
    if (timer === undefined) throw new Error('nothing is due')
    const fire: RowChange = { do: 'timer.fire', id: timer.id, claim: timer.claim }
    await act(store, fire, move('s', 1, due + MINUTE, { n: 1 }))
    expect(await refused(act(store, fire, move('s', 2, due + MINUTE)))).toBe('timer_gone')
    expect(await store.schedules.get('s')).toMatchObject({
      version: 2,
      state: { n: 1 },
      due_at: due + MINUTE,
    })
    clock.advance(MINUTE)
    expect(await store.timers.claim('w', 10, 30_000)).toHaveLength(1)
    await act(store, move('s', 2, null))
    clock.advance(DAY)
    expect(await store.timers.claim('w', 10, 30_000)).toEqual([])
  })

  test('a decision on an outdated version is rejected, and its commit writes nothing', async () => {
    const { store, clock } = await openRoot()
    await act(store, add('s', null))
    await act(store, move('s', 1, null))
    expect(await refused(act(store, move('s', 1, clock.now()), put(1)))).toBe('schedule_moved')
    expect((await store.schedules.runs('s', { limit: 9 })).runs).toEqual([])
    expect(await refused(act(store, add('s', null)))).toBe('exists')
  })

  test('a session and an owner have a maximum number of active schedules', async () => {
    const { store } = await openRoot()
    await store.sessions.create(newSession('other'))
    for (const id of ['a', 'b', 'c']) await act(store, add(id, null))
    expect(await refused(act(store, add('d', null)))).toBe('too_many_schedules')
    await act(store, { ...move('a', 1, null), status: 'cancelled' } as RowChange)
    await act(store, add('d', null))
    await store.commit({ session_id: 'other', events: [], rows: [add('e', null, { session_id: 'other' })] })
    expect(
      await refused(
        store.commit({ session_id: 'other', events: [], rows: [add('f', null, { session_id: 'other' })] }),
      ),
    ).toBe('too_many_schedules')
  })

  test('the row of a scheduled time only grows, and old rows are pruned', async () => {
    const { store, clock } = await openRoot()
    await act(store, add('s', null))
    const at = clock.now()
    await act(store, put(at, { collapsed: 3 }))
    await act(store, put(at, { status: 'success', reason: 'success', run_session_id: 'run' }))
    const runs = async () => (await store.schedules.runs('s', { limit: 9 })).runs
    expect(await runs()).toMatchObject([
      { slot_at: at, status: 'success', collapsed: 3, run_session_id: 'run', ended_at: at, manual: false },
    ])
    await act(
      store,
      put(at + 1, { status: 'skipped', reason: 'overlap', last_slot_at: at + 5, manual: true }),
    )
    await act(store, put(at + 1, { status: 'skipped', reason: 'overlap', last_slot_at: at + 2 }))
    expect((await runs())[0]).toMatchObject({ last_slot_at: at + 5, ended_at: at })
    await act(store, put(at + 2))
    clock.advance(31 * DAY)
    await act(store, put(clock.now()))
    // An active run stays, however old.
    expect((await runs()).map(run => run.slot_at)).toEqual([clock.now(), at + 2])
  })

  test('lists continue after their cursor, and filter by status, session and owner', async () => {
    const { store, clock } = await openRoot()
    for (const id of ['a', 'b', 'c']) {
      await act(store, add(id, null))
      clock.advance(10)
    }
    const { org_id, created_by } = newSession('root')
    const first = await store.schedules.list({ org_id, limit: 2 })
    expect(first.schedules.map(({ id }) => id)).toEqual(['c', 'b'])
    const rest = await store.schedules.list({
      org_id,
      created_by,
      limit: 2,
      cursor: first.next_cursor ?? '',
    })
    expect([rest.schedules.map(({ id }) => id), rest.next_cursor]).toEqual([['a'], null])
    const none = { limit: 9, org_id }
    expect((await store.schedules.list({ ...none, status: ['paused'] })).schedules).toEqual([])
    expect((await store.schedules.list({ ...none, session_id: 'other' })).schedules).toEqual([])
    expect((await store.schedules.list({ limit: 9, org_id: 'elsewhere' })).schedules).toEqual([])
    await expect(store.schedules.list({ ...none, cursor: '!' })).rejects.toMatchObject({
      code: 'invalid_cursor',
    })
  })

  test('a scheduled run is not a worker of its session, and does not count against its limit', async () => {
    const { store } = await openRoot()
    const link = (child_id: string, kind: 'run' | 'worker'): RowChange => ({
      do: 'link.open',
      link: {
        child_id,
        parent_id: 'root',
        root_id: kind === 'run' ? child_id : 'root',
        depth: kind === 'run' ? 0 : 1,
        kind,
        tool_call_id: null,
        task_id: null,
        attempt: null,
      },
      max_open: 1,
      max_total: 9,
    })
    await act(store, link('run', 'run'), link('worker', 'worker'))
    expect(await refused(act(store, link('second', 'worker')))).toBe('too_many_open')
    expect((await store.links.children('root')).map(({ child_id }) => child_id)).toEqual(['worker'])
    expect((await store.links.trees(['root']))[0]).toMatchObject({ open_children: 1 })
    expect((await store.links.tree('root')).open.map(({ child_id }) => child_id)).toEqual(['worker'])
  })
}
