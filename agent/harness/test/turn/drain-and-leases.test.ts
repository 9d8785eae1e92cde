import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import { addMessage, createSession, stopSession } from '@cairn/sessions'
import type { EventData } from '@cairn/protocol'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { llmResponse } from '../../src/events.ts'
import { fakeClock } from './fake-clock.ts'
import { alice, call, readLog, say, setStage } from './stage.ts'

test('a drain ends the running iteration and releases the lease, and another runner continues the same turn', async () => {
  const answer = Promise.withResolvers<void>()
  await using stage = await setStage({
    scenario: { rules: [{ steps: [call('note', 'x'), say('done')] }] },
    hold: () => answer.promise,
  })
  const first = stage.start()
  await stage.send('go')
  await stage.server.requested(1)
  const stopped = first.stop()
  answer.resolve()
  await stopped
  expect((await stage.session()).lease).toBeNull()
  expect((await stage.events()).at(-1)?.type).toBe('llm.response')
  expect(stage.ran).toEqual([])

  stage.start()
  await stage.next('session.complete')
  const events = await stage.events()
  expect(events.map(event => event.type)).not.toContain('harness.recovered')
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(
    new Set(events.filter(event => event.type === 'llm.request').map(event => event.data.turn_id)).size,
  ).toBe(1)
})

test('a turn that exceeds the drain time is aborted and its lease released, without a recovery', async () => {
  const clock = fakeClock()
  await using stage = await setStage({
    scenario: { rules: [{ times: 1, answer: { text: 'I think', hang: true } }, { answer: say('done') }] },
    limits: { drain_s: 5 },
  })
  const first = stage.start({ clock })
  await stage.send('go')
  await stage.server.requested(1)
  const stopped = first.stop()
  await clock.waitsFor(5000)
  clock.advance(5000)
  await stopped
  await expect(stage.server.requests[0]?.ended).resolves.toBe('left')
  expect((await stage.session()).lease).toBeNull()

  stage.start()
  await stage.next('session.complete')
  expect((await stage.events()).map(event => event.type)).not.toContain('harness.recovered')
  expect(checkHistory(await stage.events(), { settled: true })).toEqual([])
})

test('a runner that finds its llm.request answered by another does not call the model', async () => {
  await using stage = await setStage({ scenario: { rules: [{ answer: say('asked after all') }] } })
  const first = stage.start({
    store: {
      ...stage.store,
      async commit(commit) {
        const committed = await stage.store.commit(commit)
        const request = commit.events.find(event => event.type === 'llm.request')
        if (request === undefined) return committed
        // The runner pauses right after its commit, and its successor is faster.
        const { turn_id, iteration_index, model } = request.data as EventData<'llm.request'>
        const called = { id: 'c1', type: 'function' as const, function: { name: 'note', arguments: '{}' } }
        const answer = llmResponse({
          message: { role: 'assistant', content: '', tool_calls: [called] },
          model,
          turn_id,
          iteration_index,
          finish_reason: 'tool_calls',
          context_window: 1000,
          input_tokens: 1,
          output_tokens: 1,
          reasoning_tokens: 0,
          cache_read_tokens: 0,
        })
        await stage.store.commit({ session_id: stage.session_id, fence: commit.fence!, events: [answer] })
        return committed
      },
    },
  })
  await stage.send('go')
  await stage.next('llm.response')
  await first.idle()
  expect(stage.server.requests).toEqual([])
  expect(stage.ran).toEqual([])
})

/** Promise 8.1: At most one runner acts for a session. */
test('a runner whose lease expired writes nothing more after another runner has claimed the session', async () => {
  const late = { ms: 0 }
  const dir = mkdtempSync(join(tmpdir(), 'cairn-lease-'))
  const store = await openStoreInProcess({
    dir,
    now: () => Date.now() + late.ms,
    monotonic: () => performance.now() + late.ms,
  })
  {
    const firstAnswer = Promise.withResolvers<void>()
    await using stage = await setStage({
      store,
      scenario: { rules: [{ times: 1, answer: say('slow') }, { answer: say('taken over') }] },
      hold: nth => (nth === 1 ? firstAnswer.promise : undefined),
    })
    const slow = stage.start({ clock: fakeClock(), runnerId: 'slow' })
    await stage.send('go')
    await stage.server.requested(1)
    late.ms = 61_000
    stage.start({ runnerId: 'quick' })
    await stage.next('session.complete')
    firstAnswer.resolve()
    await slow.idle()
    const events = await stage.events()
    expect(checkHistory(events, { settled: true })).toEqual([])
    expect(
      events.filter(event => event.type === 'llm.response').map(event => event.data.message.content),
    ).toEqual(['taken over'])
    expect(
      events
        .filter(event => event.type === 'harness.wake')
        .map(event => ('cursor' in event.data ? event.data.worker_id : '')),
    ).toEqual(['slow', 'quick'])
    expect(events.find(event => event.type === 'harness.recovered')?.data).toMatchObject({
      recovered_by: 'quick',
    })
  }
  rmSync(dir, { recursive: true, force: true })
})

test('a runner renews its lease as long as the turn runs', async () => {
  const late = { ms: 0 }
  const dir = mkdtempSync(join(tmpdir(), 'cairn-lease-'))
  const store = await openStoreInProcess({
    dir,
    now: () => Date.now() + late.ms,
    monotonic: () => performance.now() + late.ms,
  })
  {
    const clock = fakeClock()
    await using stage = await setStage({
      store,
      scenario: { rules: [{ answer: { text: 'slow', hang: true } }] },
    })
    stage.start({ clock, runnerId: 'steady' })
    await stage.send('go')
    await stage.server.requested(1)
    const until = async () => (await stage.session()).lease?.until ?? 0
    const before = await until()
    late.ms += 20_000
    clock.advance(20_000)
    await expect.poll(until).toBeGreaterThanOrEqual(before + 20_000)
    expect((await stage.session()).lease?.worker_id).toBe('steady')
    await stopSession(stage.deps, stage.session_id)
  }
  rmSync(dir, { recursive: true, force: true })
})

test('two runners share many sessions, and each session has one runner at a time and ends once', async () => {
  await using stage = await setStage({
    scenario: { rules: [{ steps: [call('look', 'x'), say('done')] }] },
    limits: { concurrent_turns: 3 },
  })
  const workers = [stage.start(), stage.start()]
  const sessions = await Promise.all(
    Array.from({ length: 20 }, () =>
      createSession(stage.deps, ['assistant'], { principal: alice, title: 'One of many' }),
    ),
  )
  await Promise.all(
    sessions.map(({ id }) => addMessage(stage.deps, { session_id: id, content: 'go', principal: alice })),
  )
  await expect
    .poll(async () =>
      (await Promise.all(sessions.map(({ id }) => stage.store.sessions.get(id)))).every(
        session => session?.status === 'completed',
      ),
    )
    .toBe(true)
  await Promise.all(workers.map(worker => worker.idle()))
  for (const { id } of sessions) {
    const events = await readLog(stage.store, id)
    expect(checkHistory(events, { settled: true })).toEqual([])
    expect(events.filter(event => event.type === 'session.complete')).toHaveLength(1)
    expect(events.filter(event => event.type === 'harness.wake')).toHaveLength(1)
  }
})
