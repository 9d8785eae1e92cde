/** How much a wake-up of a long session reads, counted in records and never in time. */
import type { LogStore } from '@cairn/log'
import { decodeEvent, type SessionEvent } from '@cairn/protocol'
import { pauseSession } from '@cairn/sessions'
import { FOLD_VERSION, writeSnapshot } from '@cairn/state'
import { expect, test } from 'vitest'
import { liveLong, longLife } from '../../bench/long-life.ts'
import { foldPositions, foldRecords, type Position, startPosition } from '../../src/turn/position.ts'
import { say, setStage, type Stage } from './stage.ts'

const scenario = { rules: [{ steps: [say('Done.')] }] }

/** A session with a long log, and what its runners read and save from here on. */
async function liveStage(events: number) {
  const stage = await setStage({ scenario })
  await liveLong(stage.store, stage.session_id, events)
  const seen = { read: 0, saved: [] as number[] }
  const store: LogStore = {
    ...stage.store,
    events: {
      ...stage.store.events,
      async read(...asked) {
        const records = await stage.store.events.read(...asked)
        seen.read += records.length
        return records
      },
    },
    snapshots: {
      ...stage.store.snapshots,
      async save(id, snapshot) {
        seen.saved.push(snapshot.last_id)
        return stage.store.snapshots.save(id, snapshot)
      },
    },
  }
  return { stage, store, seen }
}

/** One turn by a new runner without a cache. Returns how many records it read. */
async function turnByNewWorker({ stage, store, seen }: Awaited<ReturnType<typeof liveStage>>) {
  seen.read = 0
  const last = (await stage.session()).last_event_id
  const worker = stage.start({ store })
  await stage.send('hello')
  await ended(stage, last)
  await worker.idle()
  await worker.stop()
  return seen.read
}

async function ended({ store, session_id }: Stage, after: number): Promise<void> {
  const over = Promise.withResolvers<void>()
  const look = async (): Promise<void> => {
    const found = await store.events.read(session_id, after, 1000, ['session.complete'])
    if (found.length > 0) over.resolve()
  }
  const unwatch = store.events.watch(session_id, () => void look().catch(over.reject))
  await look()
  await over.promise.finally(unwatch)
}

const positionOf = async ({ store, session_id }: Stage, upTo: number): Promise<Position> => {
  let position = startPosition
  for (;;) {
    const page = (await store.events.read(session_id, position.last_id, 1000)).filter(({ id }) => id <= upTo)
    if (page.length === 0) return position
    position = foldRecords(position, page)
  }
}

/** Promise 8.6: Waking a long session reads the events since its last snapshot, not its whole log. */
test('the first runner of a long session reads all of it, and each later one only the new events', async () => {
  const scene = await liveStage(20_000)
  await using stage = scene.stage
  const first = await turnByNewWorker(scene)
  expect(first).toBeGreaterThan(4500)
  const kept = await stage.store.snapshots.read(stage.session_id, FOLD_VERSION)
  expect(kept?.body).toBe(writeSnapshot<Position>(await positionOf(stage, kept?.last_id ?? 0)))
  expect(await turnByNewWorker(scene)).toBeLessThan(60)
  expect(await turnByNewWorker(scene)).toBeLessThan(60)
  expect(scene.seen.saved).toHaveLength(1)
})

/** Promise 8.6: A session that is ten times as long costs no more to wake. */
test('a log ten times as long costs the same to wake', async () => {
  const reads: number[] = []
  for (const events of [3000, 30_000]) {
    const scene = await liveStage(events)
    await using _stage = scene.stage
    await turnByNewWorker(scene)
    reads.push(await turnByNewWorker(scene))
  }
  expect(reads[1]).toBe(reads[0])
})

test('a short session neither has nor reads a snapshot', async () => {
  const scene = await liveStage(500)
  await using _stage = scene.stage
  scene.store.snapshots.read = () => Promise.reject(new Error('nobody asks'))
  await turnByNewWorker(scene)
  expect(scene.seen.saved).toEqual([])
})

/** Promise 8.6: An unreadable snapshot, or one from other code, is ignored and replaced. */
test.for([
  { what: 'of other code', spoil: (body: string) => ({ version: 'another', body }) },
  { what: 'that is no JSON', spoil: (body: string) => ({ version: FOLD_VERSION, body: body.slice(1) }) },
  { what: 'that ends elsewhere', spoil: () => ({ version: FOLD_VERSION, body: '{"last_id":7}' }) },
])('a snapshot $what is ignored and replaced', async ({ spoil }) => {
  const scene = await liveStage(3000)
  await using stage = scene.stage
  await turnByNewWorker(scene)
  const { last_id, body } = (await stage.store.snapshots.read(stage.session_id, FOLD_VERSION))!
  await stage.store.snapshots.save(stage.session_id, { last_id, ...spoil(body) })
  expect(await turnByNewWorker(scene)).toBeGreaterThan(700)
  expect((await stage.events()).filter(({ type }) => type === 'harness.crash')).toEqual([])
  expect(scene.seen.saved).toHaveLength(2)
  expect(await turnByNewWorker(scene)).toBeLessThan(60)
})

test('a store that cannot save a snapshot does not affect the turn', async () => {
  const scene = await liveStage(3000)
  await using stage = scene.stage
  scene.store.snapshots.save = () => Promise.reject(new Error('no room'))
  await turnByNewWorker(scene)
  expect((await stage.session()).status).toBe('completed')
})

test.for(['drains', 'has lost its lease'])('a runner that %s saves no snapshot', async why => {
  const scene = await liveStage(3000)
  await using stage = scene.stage
  const [cut, looked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const store: LogStore = {
    ...scene.store,
    // The first commit of the turn makes a snapshot due, and the runner stops before it can write it.
    async commit(commit) {
      const committed = await stage.store.commit(commit)
      if (commit.fence === undefined || !commit.events.some(({ type }) => type === 'llm.request'))
        return committed
      if (why === 'drains') void worker.stop()
      else {
        await pauseSession(stage.deps, stage.session_id)
        await looked.promise
      }
      cut.resolve()
      return committed
    },
    leases: {
      ...stage.store.leases,
      async get(id) {
        const found = await stage.store.leases.get(id)
        if (found?.lease === null) setImmediate(looked.resolve)
        return found
      },
    },
  }
  const worker = stage.start({ store })
  await stage.send('hello')
  await cut.promise
  await worker.idle()
  await worker.stop()
  expect(scene.seen.saved).toEqual([])
})

/** Promise 8.6: A session's snapshot has a bounded size, up to a million events. */
test('the snapshot of a million events is no larger than that of thirty thousand', () => {
  const longest = { early: 0, late: 0 }
  let position = startPosition
  let id = 0
  for (const portion of longLife(1_000_000)) {
    const folded = portion
      .map(({ type, data }) => {
        id += 1
        const record = { id, session_id: 's', type, created_at: '2026-01-01T00:00:00.000Z', data }
        return type === 'llm.delta' ? null : decodeEvent(JSON.stringify(record))
      })
      .filter((event): event is SessionEvent => event !== null)
    position = foldPositions(position, folded)
    const when = id < 30_000 ? 'early' : 'late'
    longest[when] = Math.max(longest[when], writeSnapshot<Position>(position).length)
  }
  expect(id).toBeGreaterThan(1_000_000)
  // The text of undecided items has its own limit, which a short log does not reach.
  expect(longest.late).toBeLessThan(longest.early + 100 * 600)
  expect(longest.late).toBeLessThan(400_000)
})
