/** Scheduled runs, on both stores: started in one commit, each with one loop.result in the parent session. */
import type { LogStore } from '@cairn/log'
import { checkHistory, checkTree } from '@cairn/verify'
import {
  archiveSession,
  cancelSchedule,
  changeSchedule,
  createSchedule,
  createSession,
  pauseSchedule,
  pauseSession,
  respondInbox,
  runSchedule,
  stopSession,
} from '@cairn/sessions'
import { describe, expect, test } from 'vitest'
import { alice, call, readLog, say, setStage, typesOf } from '../turn/stage.ts'
import {
  addSchedule,
  CONFIG,
  depsOf,
  fireDue,
  HOUR,
  makeWall,
  MINUTE,
  resultsOf,
  runsOf,
  said,
  STORES,
  untilTold,
} from './schedule-stage.ts'

const RULES = {
  rules: [
    { when: { user: 'look at the weather' }, answer: say('It rains.') },
    { when: { user: 'go round' }, answer: call('look', 'it') },
    { when: { user: 'say much' }, answer: say('much '.repeat(4000)) },
    { when: { user: 'fail' }, answer: { error: { status: 400, message: 'no such thing' } } },
    { when: { user: 'Scheduled run' }, answer: say('Noted the rain.') },
    { answer: say('Yes.') },
  ],
}

const addAlice = ({ accounts }: LogStore) =>
  accounts.ensureFirstAdmin(
    { id: 'org', name: 'Org' },
    { id: alice.id, email: 'alice@example.org', name: alice.name },
  )

describe.each(STORES)('on %s', (_, open) => {
  async function begin() {
    const wall = makeWall()
    const place = await open(wall.now)
    const stage = await setStage({ scenario: RULES, store: place.store, limits: { drain_s: 0 } })
    const deps = depsOf(place.store, wall.now)
    return {
      wall,
      place,
      stage,
      deps,
      store: place.store,
      async [Symbol.asyncDispose]() {
        await stage[Symbol.asyncDispose]()
        await place.remove()
      },
    }
  }

  /**
   * Promise 14.17: The session that created a schedule gets each result once and is woken only on request.
   */
  test('a scheduled run is a session of its own whose result the parent session gets once, without a wake-up', async () => {
    await using at = await begin()
    const { stage, store, deps, wall } = at
    stage.start()
    await stage.send('hello')
    await stage.until(log => log.at(-1)?.type === 'session.complete')
    const { id, created_at } = await addSchedule(deps, stage.session_id)
    wall.advance(MINUTE)
    expect(await fireDue(deps)).toBe(1)
    await untilTold(stage, 1)
    const [result] = await resultsOf(store, stage.session_id)
    expect(result?.data).toMatchObject({
      scheduled_session_id: id,
      content: 'It rains.',
      outcome: 'success',
      run_number: 1,
      slot_at: new Date(created_at + MINUTE).toISOString(),
    })
    expect(said(await runsOf(store, id), created_at)).toEqual(['1 success success'])
    const run = result?.data.run_session_id ?? ''
    expect(await store.sessions.get(run)).toMatchObject({
      channel: 'scheduled',
      status: 'completed',
      parent_id: stage.session_id,
    })
    // It wakes no session, and the next turn reads it.
    expect((await stage.session()).status).toBe('completed')
    await stage.send('and now?')
    const log = await stage.until(
      events => typesOf(events).filter(type => type === 'session.complete').length >= 2,
    )
    expect(typesOf(log).filter(type => type === 'llm.request')).toHaveLength(2)
    expect(JSON.stringify(stage.server.requests.at(-1))).toContain('It rains.')
    const logs = new Map([
      [stage.session_id, log],
      [run, await readLog(store, run)],
    ])
    for (const each of logs.values()) expect(checkHistory(each, { settled: true })).toEqual([])
    expect(checkTree(logs)).toEqual([])
    expect(await store.check()).toEqual([])
  })

  test('with on_result: wake the parent session continues by itself', async () => {
    await using at = await begin()
    const { stage, deps, wall } = at
    stage.start()
    await stage.send('hello')
    await stage.until(log => log.at(-1)?.type === 'session.complete')
    await addSchedule(deps, stage.session_id, { on_result: 'wake', max_runs: 1 })
    wall.advance(MINUTE)
    await fireDue(deps)
    const log = await stage.until(
      events => typesOf(events).filter(type => type === 'session.complete').length >= 2,
    )
    expect(typesOf(log).slice(typesOf(log).indexOf('session.complete') + 1, -1)).toEqual(
      expect.arrayContaining(['session.resume', 'loop.result', 'harness.wake', 'llm.response']),
    )
    expect(checkHistory(log, { settled: true })).toEqual([])
  })

  test('a success, an error and a tool loop each deliver one result', async () => {
    await using at = await begin()
    const { stage, deps, wall, store } = at
    for (const prompt of ['go round', 'fail'])
      await addSchedule(deps, stage.session_id, { prompt, max_runs: 1 })
    wall.advance(MINUTE)
    await fireDue(deps)
    stage.start()
    await untilTold(stage, 2)
    const stopped = await addSchedule(deps, stage.session_id, { prompt: 'hello', name: 'Three' })
    expect((await runSchedule(deps, stopped.id)).state).toMatchObject({ run_count: 1 })
    await untilTold(stage, 3)
    const outcomes = (await resultsOf(store, stage.session_id)).map(({ data }) => data.outcome)
    expect(outcomes.toSorted()).toEqual(['failed', 'success', 'tool_loop'])
  })

  test('a stopped and a replaced run are cancelled and do not count as failures', async () => {
    await using at = await begin()
    const { stage, deps, wall, store } = at
    const { id, created_at } = await addSchedule(deps, stage.session_id, { overlap: 'replace' })
    wall.advance(MINUTE)
    await fireDue(deps)
    wall.advance(MINUTE)
    await fireDue(deps)
    const [, second] = await runsOf(store, id)
    await stopSession(deps, second?.run_session_id ?? '')
    expect(said(await runsOf(store, id), created_at)).toEqual(['1 failed cancelled', '2 failed cancelled'])
    expect((await resultsOf(store, stage.session_id)).map(({ data }) => data.outcome)).toEqual([
      'cancelled',
      'cancelled',
    ])
    expect((await store.schedules.get(id))?.state).toMatchObject({ failures: 0, running: null })
    expect(await store.check()).toEqual([])
  })

  test('a queued run starts in the commit that ends the run before it', async () => {
    await using at = await begin()
    const { stage, deps, wall, store } = at
    const { id, created_at } = await addSchedule(deps, stage.session_id, { overlap: 'queue', max_runs: 2 })
    for (let nth = 0; nth < 3; nth++) {
      wall.advance(MINUTE)
      await fireDue(deps)
    }
    expect(said(await runsOf(store, id), created_at)).toEqual(['1 running', '2 queued', '3 skipped overlap'])
    stage.start()
    await untilTold(stage, 2)
    expect(said(await runsOf(store, id), created_at)).toEqual([
      '1 success success',
      '2 success success',
      '3 skipped overlap',
    ])
    expect((await store.schedules.get(id))?.status).toBe('completed')
  })

  /** Promise 14.17: Five consecutive failures pause a schedule and create an inbox item for a person. */
  test('consecutive failures pause a schedule and ask a person, and their answer resumes it', async () => {
    await using at = await begin()
    const { stage, deps, wall, store } = at
    stage.start()
    const { id } = await addSchedule(deps, stage.session_id, { prompt: 'fail' })
    for (let told = 1; told <= 5; told++) {
      wall.advance(HOUR)
      await fireDue(deps)
      await untilTold(stage, told)
    }
    expect((await store.schedules.get(id))?.status).toBe('paused')
    const log = await stage.events()
    expect(log.at(-1)).toMatchObject({
      type: 'inbox.action_required',
      data: { action_type: 'schedule_paused', target: id },
    })
    wall.advance(HOUR)
    expect(await fireDue(deps)).toBe(0)
    // The item concerns the schedule: the session itself continues.
    const { id: item } = (await store.inbox.list({ org_id: alice.org_id, limit: 10 })).items[0] ?? { id: '' }
    await respondInbox(deps, item, { completed: true }, alice)
    expect(await store.schedules.get(id)).toMatchObject({ status: 'active', state: { failures: 0 } })
    await respondInbox(deps, item, { completed: true }, alice).then(
      () => expect.unreachable(),
      (error: unknown) => expect(error).toMatchObject({ code: 'already_answered' }),
    )
  })

  /** Promise 14.17: After an outage a schedule starts one run, not a burst. */
  test('an outage of a minute, an hour or three days causes one run, and every missed time is counted', async () => {
    await using at = await begin()
    const { stage, deps, wall, store } = at
    for (const outage of [MINUTE, HOUR, 72 * HOUR]) {
      const { id } = await addSchedule(deps, stage.session_id)
      wall.advance(MINUTE + outage)
      await fireDue(deps)
      const runs = await runsOf(store, id)
      expect(runs.filter(run => run.status === 'running')).toHaveLength(1)
      const state = (await store.schedules.get(id))?.state ?? {}
      expect(runs.reduce((sum, run) => sum + 1 + run.collapsed, 0)).toBe(state['slot_count'])
      expect(state['slot_count']).toBe(outage / MINUTE + 1)
      await cancelSchedule(deps, id)
    }
  })

  /** Promise 14.17: Setting the clock back repeats no scheduled run. */
  test('setting the clock back an hour repeats no run', async () => {
    await using at = await begin()
    const { stage, deps, wall, store } = at
    const { id, created_at } = await addSchedule(deps, stage.session_id)
    const step = async (minutes: number): Promise<void> => {
      wall.advance(minutes * MINUTE)
      await fireDue(deps)
      const running = (await runsOf(store, id)).find(run => run.status === 'running')
      if (running?.run_session_id) await stopSession(deps, running.run_session_id)
    }
    for (let nth = 0; nth < 3; nth++) await step(1)
    wall.advance(-HOUR)
    for (let nth = 0; nth < 60; nth++) await step(1)
    expect(said(await runsOf(store, id), created_at)).toHaveLength(3)
    await step(1)
    const slots = (await runsOf(store, id)).map(run => (run.slot_at - created_at) / MINUTE)
    expect(slots).toEqual([1, 2, 3, 4])
  })

  /** Promise 14.17: Processes with different clocks start each scheduled run once. */
  test('two processes with clocks 3 s apart start each scheduled run once', async () => {
    await using at = await begin()
    const { stage, deps, wall, store, place } = at
    const ahead = (): number => wall.now() + 3000
    const other = depsOf(await place.more(ahead), ahead)
    const ids = await Promise.all(
      Array.from({ length: 8 }, async () => (await addSchedule(deps, stage.session_id)).id),
    )
    for (let second = 0; second < 4 * 60; second += 10) {
      wall.advance(10_000)
      await Promise.all([fireDue(deps, 'one'), fireDue(other, 'two')])
    }
    for (const id of ids) {
      const { state, created_at } = (await store.schedules.get(id)) ?? { state: {}, created_at: 0 }
      expect(state).toMatchObject({ slot_count: 4, run_count: 1, skipped_count: 3 })
      expect(said(await runsOf(store, id), created_at)).toEqual(['1 running', '2 skipped overlap +2'])
    }
    expect(await store.check()).toEqual([])
  })

  test('a paused session records its skipped runs, and archiving it cancels its schedules and archives their runs', async () => {
    await using at = await begin()
    const { stage, deps, wall, store } = at
    const { id, created_at } = await addSchedule(deps, stage.session_id)
    await pauseSession(deps, stage.session_id)
    for (let nth = 0; nth < 2; nth++) {
      wall.advance(MINUTE)
      await fireDue(deps)
    }
    expect(said(await runsOf(store, id), created_at)).toEqual(['1 skipped paused +1'])
    const other = await addSchedule(deps, stage.session_id, { name: 'Other' })
    await runSchedule(deps, other.id)
    const run = (await runsOf(store, other.id))[0]?.run_session_id ?? ''
    await pauseSchedule(deps, other.id)
    await archiveSession(deps, await stage.session())
    expect((await store.schedules.get(id))?.status).toBe('cancelled')
    expect((await store.schedules.get(other.id))?.status).toBe('cancelled')
    expect((await store.sessions.get(run))?.status).toBe('archived')
    expect((await resultsOf(store, stage.session_id)).map(({ data }) => data.outcome)).toEqual(['cancelled'])
    expect(await store.links.get(run)).toMatchObject({ status: 'failed', cause: 'archived' })
    wall.advance(HOUR)
    expect(await fireDue(deps)).toBe(0)
  })

  test('/loop at the limit of its session is rejected in its reply, and the session continues', async () => {
    await using at = await begin()
    const { stage, deps, store } = at
    for (let nth = 0; nth < CONFIG.schedules.max_per_session; nth++) await addSchedule(deps, stage.session_id)
    stage.start()
    await stage.send('/loop 5m look at the weather')
    const response = await stage.next('llm.response')
    expect(response.data.message.content).toMatch(/^Loop not created: session .* has 10 schedules/)
    await stage.send('hello')
    const log = await stage.until(events => events.at(-1)?.type === 'session.complete')
    expect(typesOf(log)).not.toContain('harness.crash')
    expect(checkHistory(log, { settled: true })).toEqual([])
    expect(await store.check()).toEqual([])
  })

  test('a schedule keeps of a long answer only what its next run reads', async () => {
    await using at = await begin()
    const { stage, deps, store } = at
    stage.start()
    const { id } = await addSchedule(deps, stage.session_id, { prompt: 'say much' })
    await runSchedule(deps, id)
    await untilTold(stage, 1)
    const state = (await store.schedules.get(id))?.state ?? {}
    expect(String(state['last_result']).length).toBeLessThanOrEqual(2001)
  })

  test('a replaced run wakes its session with on_result: wake', async () => {
    await using at = await begin()
    const { stage, deps, wall } = at
    const harness = stage.start()
    await stage.send('hello')
    await stage.until(log => log.at(-1)?.type === 'session.complete')
    await harness.stop()
    await addSchedule(deps, stage.session_id, { overlap: 'replace', on_result: 'wake' })
    wall.advance(MINUTE)
    await fireDue(deps)
    expect((await stage.session()).status).toBe('completed')
    wall.advance(MINUTE)
    await fireDue(deps)
    expect((await stage.session()).status).toBe('active')
    expect(
      typesOf(await stage.events())
        .slice(-2)
        .toSorted(),
    ).toEqual(['loop.result', 'session.resume'])
  })

  test('a one-time schedule whose time passed during a pause can still be renamed', async () => {
    await using at = await begin()
    const { stage, deps, wall, store } = at
    const once = new Date(wall.now() + HOUR).toISOString()
    const { id } = await addSchedule(deps, stage.session_id, { at: once })
    await pauseSchedule(deps, id)
    wall.advance(2 * HOUR)
    const changed = await changeSchedule(deps, CONFIG, id, { name: 'Other' })
    expect(changed).toMatchObject({ status: 'paused', spec: { name: 'Other' } })
    await expect(changeSchedule(deps, CONFIG, id, { timezone: 'Europe/Berlin' })).rejects.toThrow(/timezone/)
    expect(await store.check()).toEqual([])
  })

  test('disabling the owner ends the schedule at its next time', async () => {
    await using at = await begin()
    const { stage, deps, wall, store } = at
    const { id } = await addSchedule(deps, stage.session_id)
    const admin = await addAlice(store)
    await store.accounts.disableUser(admin.id, wall.now())
    wall.advance(MINUTE)
    await fireDue(deps)
    expect(await store.schedules.get(id)).toMatchObject({ status: 'cancelled', due_at: null })
    expect(await runsOf(store, id)).toEqual([])
  })

  /** Promise 14.17: Disabling a user or revoking a service account ends its schedules. */
  test('revoking or expiring a service account ends its schedules', async () => {
    await using at = await begin()
    const { deps, wall, store } = at
    await addAlice(store)
    const ends: string[] = []
    for (const [name, expires_at] of [
      ['revoked', null],
      ['expired', wall.now() + 1000],
      ['there', null],
    ] as const) {
      await store.accounts.createServiceAccount({
        id: name,
        org_id: 'org',
        name,
        scope: 'own',
        token_sha256: name,
        token_prefix: name,
        created_by: 'user-alice',
        expires_at,
      })
      const machine = { kind: 'service_account', id: name, org_id: 'org', scope: 'own', name } as const
      const { id } = await createSession(deps, ['assistant'], { principal: machine })
      ends.push((await createSchedule(deps, CONFIG, machine, id, { prompt: 'look', every_s: 60 })).id)
    }
    await store.accounts.revokeServiceAccount('org', 'revoked', wall.now())
    wall.advance(MINUTE)
    await fireDue(deps)
    const found = await Promise.all(ends.map(id => store.schedules.get(id)))
    expect(found.map(row => row?.status)).toEqual(['cancelled', 'cancelled', 'active'])
  })
})
