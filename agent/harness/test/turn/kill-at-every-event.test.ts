import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogStore } from '@cairn/log'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import { oneIn } from '@cairn/protocol/test/sample'
import { checkHistory } from '@cairn/verify'
import { expect, onTestFinished, test } from 'vitest'
import { essence, sorted } from '../golden/essence.ts'
import { dyingStore } from './dying-store.ts'
import { golden, playGolden } from './golden-turn.ts'
import { call, say, setStage } from './stage.ts'
import { deathsOf } from './with-death.ts'

const undisturbed = await playGolden(null)

test('the session without a death is sound and has effects to repeat', () => {
  expect(checkHistory(undisturbed.events, { settled: true })).toEqual([])
  expect(undisturbed.seen.toSorted()).toEqual(['look:1', 'look:2', 'note:first', 'note:second'])
  expect(undisturbed.commits).toBeGreaterThan(15)
})

/** Promise 11.3: A non-idempotent tool starts at most once per call, wherever the runner dies. */
test.each(oneIn(4, deathsOf(undisturbed.commits)))(
  'killed just $when commit $nth, the next runner ends the session the same way and repeats no effect',
  async death => {
    const { events, seen: ran } = await playGolden(death)
    expect(checkHistory(events, { settled: true })).toEqual([])
    expect(sorted(essence(events))).toEqual(sorted(essence(undisturbed.events)))
    const noted = ran.filter(value => value.startsWith('note:'))
    expect(noted).toEqual([...new Set(noted)])
    const ended = death.when === 'after' && death.nth === undisturbed.commits - 1
    expect(events.filter(event => event.type === 'harness.recovered')).toHaveLength(ended ? 0 : 1)
  },
)

test('a session that kills every runner fails after three recoveries', async () => {
  const late = { ms: 0 }
  const dir = mkdtempSync(join(tmpdir(), 'cairn-kill-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  await using stage = await setStage({
    scenario: golden,
    store: await openStoreInProcess({
      dir,
      now: () => Date.now() + late.ms,
      monotonic: () => performance.now() + late.ms,
    }),
  })
  await stage.send('go')
  for (let worker = 0; worker < 4; worker++) {
    const dying = dyingStore(stage.store, 1, 'before')
    const harness = stage.start({ store: dying.store })
    await dying.died
    await harness.idle()
    late.ms += 61_000
  }
  stage.start()
  expect((await stage.next('session.fail')).data).toMatchObject({
    reason: 'recovery_loop',
    error_category: 'recovery_loop',
    retryable: false,
    attempts: 3,
  })
  const events = await stage.events()
  expect(events.filter(event => event.type === 'harness.recovered')).toHaveLength(3)
  expect(checkHistory(events, { settled: true })).toEqual([])
})

/** A store that fails writes of one kind: to the turn, a bug in the runtime. */
function breakingStore(store: LogStore, times: number, message = 'the runtime has a bug'): LogStore {
  let left = times
  return {
    ...store,
    commit: commit => {
      if (left > 0 && commit.events.some(event => event.type === 'llm.response')) {
        left--
        return Promise.reject(new Error(message))
      }
      return store.commit(commit)
    },
  }
}

test('an exception of the runtime is recorded as a crash, and the turn is retried', async () => {
  await using stage = await setStage({ scenario: { rules: [{ steps: [call('note', 'x'), say('done')] }] } })
  stage.start({ store: breakingStore(stage.store, 2) })
  await stage.send('go')
  await stage.next('session.complete')
  const events = await stage.events()
  expect(events.filter(event => event.type === 'harness.crash').map(event => event.data)).toEqual(
    Array.from({ length: 2 }, () =>
      expect.objectContaining({
        error: 'Error: the runtime has a bug',
        error_category: 'internal',
        retryable: true,
      }),
    ),
  )
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(stage.ran).toEqual(['note:x'])
})

test('the same exception three times in a row fails the session', async () => {
  await using stage = await setStage({ scenario: { rules: [{ answer: say('never lands') }] } })
  stage.start({ store: breakingStore(stage.store, 99) })
  await stage.send('go')
  expect((await stage.next('session.fail')).data).toMatchObject({
    reason: 'crash_loop_detected',
    error_category: 'crash_loop',
    retryable: false,
    attempts: 3,
  })
  expect((await stage.events()).filter(event => event.type === 'harness.crash')).toHaveLength(3)
})

/** Promise 10.3: Crash and failure events contain no local path. */
test('crash and failure events contain __WORKSPACE__ instead of the workspace path', async () => {
  await using stage = await setStage({ scenario: { rules: [{ answer: say('never lands') }] } })
  const workspace = join(stage.dir, 'workspaces', stage.session_id)
  stage.start({ store: breakingStore(stage.store, 99, `ENOENT: no such file, open '${workspace}/a.txt'`) })
  await stage.send('go')
  await stage.next('session.fail')
  const told = (await stage.events()).flatMap(event =>
    event.type === 'harness.crash' || event.type === 'session.fail' ? [event.data.error] : [],
  )
  expect(told).toEqual(
    Array.from({ length: 4 }, () => "Error: ENOENT: no such file, open '__WORKSPACE__/a.txt'"),
  )
})
