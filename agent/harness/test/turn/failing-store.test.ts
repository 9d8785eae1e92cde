/**
 * A store that fails once, at each commit of a turn: with nothing written, or with everything written and the
 * answer lost. The runner stays alive, so nothing is recovered: it rereads the log and continues from its
 * actual end.
 */
import { AppError } from '@cairn/protocol'
import type { LogStore } from '@cairn/log'
import { checkHistory } from '@cairn/verify'
import { setImmediate as tick } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { fakeClock } from './fake-clock.ts'
import { call, say, setStage } from './stage.ts'

const scenario = {
  rules: [
    {
      steps: [
        { text: 'On it.', tool_calls: [...call('look', '1').tool_calls, ...call('note', 'once').tool_calls] },
        say('All done.'),
      ],
    },
  ],
}

/** Like `store`, except that its nth commit fails. */
function failingStore(
  store: LogStore,
  nth: number,
  when: 'before' | 'after',
): { store: LogStore; commits: () => number } {
  let commits = 0
  return {
    commits: () => commits,
    store: {
      ...store,
      commit: async commit => {
        if (commits++ !== nth) return store.commit(commit)
        if (when === 'after') await store.commit(commit)
        throw new AppError('storage', `the store failed ${when} the commit`)
      },
    },
  }
}

/** Delays of the runner end at once: it retries after a crash. */
const hastyClock = () => {
  const clock = fakeClock()
  return {
    ...clock,
    now: Date.now,
    after: (ms: number, run: () => void) =>
      ms < 2000 ? (queueMicrotask(run), () => {}) : clock.after(ms, run),
  }
}

async function run(nth: number, when: 'before' | 'after') {
  await using stage = await setStage({ scenario, agent: { saga: { enabled: true } } })
  const failing = failingStore(stage.store, nth, when)
  const harness = stage.start({ store: failing.store, clock: hastyClock() })
  await stage.send('go')
  await stage.next('session.complete')
  await harness.idle()
  return {
    events: await stage.events(),
    notes: stage.ran.filter(value => value.startsWith('note:')),
    commits: failing.commits(),
  }
}

/** Promise 7: A failed commit, before or after it reached the disk, does not change how the turn ends. */
test('a failed commit, before or after it landed, does not change how the turn ends and repeats nothing', async () => {
  const undisturbed = await run(Number.POSITIVE_INFINITY, 'before')
  expect(undisturbed.commits).toBeGreaterThan(6)
  for (let nth = 0; nth < undisturbed.commits; nth++) {
    for (const when of ['before', 'after'] as const) {
      const { events, notes } = await run(nth, when)
      const about = `failed ${when} commit ${nth}`
      expect(checkHistory(events, { settled: true }), about).toEqual([])
      expect(new Set(notes).size, about).toBe(notes.length)
      expect(events.at(-1)?.type, about).toBe('session.complete')
      expect(events.filter(event => event.type === 'llm.response').at(-1)?.data.message.content, about).toBe(
        'All done.',
      )
      expect(
        events.filter(event => event.type === 'saga.start'),
        about,
      ).toHaveLength(1)
      expect(
        events.filter(event => event.type === 'harness.recovered'),
        about,
      ).toEqual([])
    }
  }
})

test('a session continues as soon as a failing store recovers, before its lease expires', async () => {
  await using stage = await setStage({ scenario })
  const outage = { begins: 3, isOver: false, tries: 0 }
  const fail = () => Promise.reject(new AppError('storage', 'the disk is full'))
  const store: LogStore = {
    ...stage.store,
    commit: commit => (outage.begins-- > 0 || outage.isOver ? stage.store.commit(commit) : fail()),
    leases: {
      ...stage.store.leases,
      release: (id, fence) => (
        outage.tries++,
        outage.isOver ? stage.store.leases.release(id, fence) : fail()
      ),
    },
  }
  const clock = hastyClock()
  stage.start({ store, clock })
  await stage.send('go')
  const turnTimeUntil = async (done: () => Promise<boolean> | boolean) => {
    while (!(await done())) {
      clock.advance(2000)
      await tick()
    }
  }
  await turnTimeUntil(() => outage.tries > 1)
  expect((await stage.session()).lease).not.toBeNull()
  outage.isOver = true
  await turnTimeUntil(async () => (await stage.events()).some(event => event.type === 'session.complete'))
  const events = await stage.events()
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(events.filter(event => event.type === 'harness.recovered')).toEqual([])
})
