/**
 * A runner that dies anywhere in a turn or in the review after it: memory and proposal end up the same, once
 * each.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import type { SessionEvent } from '@cairn/protocol'
import { oneIn } from '@cairn/protocol/test/sample'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { systemClock } from '@cairn/models/clock'
import { memoryFile } from '../../src/capabilities/review/memory-file.ts'
import { compareGolden } from '../golden/golden-file.ts'
import { dyingStore } from '../turn/dying-store.ts'
import { alice, setStage } from '../turn/stage.ts'
import { deathsOf, type Death } from '../turn/with-death.ts'
import { FOUND, reviewedAgent, reviewScenario } from './review-scenario.ts'

/** Later than the lease, and than the time after which a review without an end is repeated. */
const LATER_MS = 300_000

async function run(death: Death) {
  const late = { ms: 0 }
  const dir = mkdtempSync(join(tmpdir(), 'cairn-kill-'))
  const now = () => Date.now() + late.ms
  const store = await openStoreInProcess({ dir, now, monotonic: now })
  try {
    await using stage = await setStage({ scenario: reviewScenario(), agent: reviewedAgent, store })
    const dying = dyingStore(store, death?.nth ?? Number.POSITIVE_INFINITY, death?.when ?? 'before')
    const clock = { ...systemClock, now }
    const first = stage.start({ store: dying.store, clock, runnerId: 'worker-1' })
    await stage.send('sow beans')
    const reviewed = (events: readonly SessionEvent[]) =>
      events.some(event => event.type === 'inbox.task_complete')
    if (death === null) await stage.until(reviewed)
    else await dying.died
    await first.idle()
    const commits = dying.commits()
    const afterFirst = await stage.events()
    await first.stop()
    late.ms += LATER_MS
    const second = stage.start({ clock, runnerId: 'worker-2' })
    if (!afterFirst.some(event => event.type === 'session.complete')) await stage.next('session.complete')
    await second.idle()
    // A review that was interrupted is noticed at the end of the next turn.
    await stage.send('second')
    await stage.next('session.complete', 2)
    await second.idle()
    const { items } = await store.inbox.list({ org_id: 'org', limit: 50 })
    return {
      commits,
      afterFirst,
      events: await stage.events(),
      problems: await store.check(),
      proposals: items.filter(item => item.kind === 'action_required').length,
      memory: readFileSync(memoryFile(stage.dir, alice.id, 'assistant'), 'utf8'),
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const undisturbed = await run(null)

test('the reviewed session matches the golden log of this version byte for byte', () => {
  expect(checkHistory(undisturbed.afterFirst, { settled: true })).toEqual([])
  const { golden, now } = compareGolden('review', undisturbed.afterFirst)
  expect(now).toBe(golden)
})

/** Promise 1: A review interrupted by a crash is repeated and writes one memory and one proposal. */
test.each(oneIn(4, deathsOf(undisturbed.commits)))(
  'killed just $when commit $nth, the review is repeated and writes one memory and one proposal',
  async death => {
    const { events, problems, proposals, memory } = await run(death)
    expect(checkHistory(events, { settled: true })).toEqual([])
    expect(problems).toEqual([])
    expect(proposals).toBe(1)
    expect(memory).toBe(`# Memory\n\n- ${FOUND.memory.join('\n- ')}\n`)
    // Every end names a beginning, and no beginning has two.
    const ends = events.flatMap(event =>
      event.type === 'inbox.task_complete' ? [event.data.review_wake_id] : [],
    )
    const wakes = events.flatMap(event =>
      event.type === 'harness.wake' && 'review_memory' in event.data ? [event.id] : [],
    )
    expect(new Set(ends).size).toBe(ends.length)
    expect(ends.every(id => id !== undefined && wakes.includes(id))).toBe(true)
    expect(wakes.length - ends.length).toBeLessThanOrEqual(1)
  },
)
