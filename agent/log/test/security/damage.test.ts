/**
 * Files of the embedded store that were damaged while it was closed (contract 2.2, 11.2). The loss is
 * reported with its size and time, no id is reused, a reader of lost events is detected, and a database full
 * of garbage is rejected and left unchanged.
 */
import { createHash } from 'node:crypto'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DamagedStore, type LogStore, openSqliteStore, readLosses } from '@cairn/log'
import { readMark } from '../../src/sqlite/store-mark.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { tally } from '@cairn/protocol/test/attacks'
import { oneIn, RUN_ALL } from '@cairn/protocol/test/sample'
import { ids, makeClock, newSession, readAll, thought, upTo } from '../conformance/fixture.ts'

const COMMITS = 45
/** The full run opens 800 stores, and a busy machine takes a second for each. */
const LONG = { timeout: (RUN_ALL ? 40 : 4) * 60_000 }
/** Many small files are created and read; a memory file system is enough. */
const root = mkdtempSync(join(tmpdir(), 'cairn-damage-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const clock = makeClock()

/** As `kill -9` leaves it: acknowledged events are in the write-ahead log, and the mark counts them. */
const killed = join(root, 'killed')
/** The same, after each commit. */
const moments: string[] = []
let texts: string[] = []
beforeAll(async () => {
  const live = join(root, 'live')
  const store = await openSqliteStore({ dir: live, now: clock.now, monotonic: clock.monotonic })
  await store.sessions.create(newSession('s'))
  await store.sessions.create(newSession('quiet'))
  await store.commit({ session_id: 'quiet', events: [thought('first')] })
  for (let n = 0; n < COMMITS; n++) {
    clock.advance(1000)
    await store.commit({ session_id: 's', events: [thought(`${n} ${'x'.repeat(n * 10)}`)] })
    const moment = join(root, `moment-${n}`)
    cpSync(live, moment, { recursive: true })
    moments.push(moment)
  }
  texts = (await readAll(store, 's')).map(({ json }) => json)
  // It is written when the last commit is acknowledged, and may arrive a moment later.
  await vi.waitFor(() => expect(readMark(live)).toMatchObject({ records: COMMITS + 1 }), { timeout: 60_000 })
  cpSync(live, killed, { recursive: true })
  await store.close()
})

/** Noise that is the same in every run. */
function noise(seed: string, length: number): Buffer {
  const blocks: Buffer[] = []
  for (let n = 0; n * 32 < length; n++) blocks.push(createHash('sha256').update(`${seed} ${n}`).digest())
  return Buffer.concat(blocks).subarray(0, length)
}

/** In bytes of the log; half of its length would cut within the schema, which grows. */
const halfOfTheCommits = (): number =>
  readFileSync(join(moments[COMMITS >> 1] ?? '', 'cairn.db-wal')).length + 100

let copies = 0
function copyOf(from: string): { dir: string; db: string; wal: string; mark: string } {
  const dir = join(root, `copy-${(copies += 1)}`)
  cpSync(from, dir, { recursive: true })
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return {
    dir,
    db: join(dir, 'cairn.db'),
    wal: join(dir, 'cairn.db-wal'),
    mark: join(dir, 'cairn.mark'),
  }
}
async function open(dir: string): Promise<{ store: LogStore; told: string[] }> {
  const told: string[] = []
  const store = await openSqliteStore({
    dir,
    now: clock.now,
    monotonic: clock.monotonic,
    report: (level, message) => told.push(`${level}: ${message}`),
  })
  return { store, told }
}

/** The invariants of a store that is opened on damaged files, whatever is left in them. */
async function judge(dir: string): Promise<string[]> {
  const problems: string[] = []
  const wrong = (is: boolean, what: string): void => void (is && problems.push(what))
  const { store, told } = await open(dir)
  try {
    const left = await readAll(store, 's')
    const quiet = await readAll(store, 'quiet')
    const missing = COMMITS + 1 - left.length - quiet.length
    wrong(
      left.some(({ json }, at) => json !== texts[at]),
      'what is left is not a beginning',
    )
    const gone = (await store.sessions.get('s')) === null
    if (gone) {
      wrong(!told[0]?.includes('a new store is created'), `told: ${told[0]}`)
      return problems
    }
    if (missing === 0) wrong(told.length > 0, `told of a loss that is none: ${told.join()}`)
    else {
      wrong(told.length !== 1, `told ${told.length} times`)
      wrong(
        !told[0]?.startsWith(`error: ${missing} records that had been acknowledged are missing`),
        `told: ${told[0]}`,
      )
    }
    const last = (await store.sessions.get('s'))?.last_event_id ?? 0
    wrong(missing > 0 && last <= COMMITS, 'ids go on among the lost ones')
    for (const cursor of [left.length, last, COMMITS + 1000])
      wrong((await store.events.lostAt('s', cursor)) !== null, `cursor ${cursor} counts as lost`)
    for (const cursor of missing > 0 ? upTo(COMMITS).slice(left.length) : [])
      wrong(
        (await store.events.lostAt('s', cursor))?.after_id !== left.length,
        `cursor ${cursor} is not known as lost`,
      )
    const { last_id } = await store.commit({ session_id: 's', events: [thought('on'), thought('and on')] })
    wrong(last_id !== last + 2, `the next ids are up to ${last_id}, after ${last}`)
    wrong(
      ids(await store.events.read('s', last, 10)).join() !== `${last + 1},${last + 2}`,
      'what is new is not read',
    )
    wrong((await readAll(store, 's')).length !== left.length + 2, 'reading over the gap')
    problems.push(...(await store.check()))
  } finally {
    await store.close()
  }
  // Reported once, and not at every start.
  const again = await open(dir)
  wrong(again.told.length > 0, `told again: ${again.told.join()}`)
  problems.push(...(await again.store.check()))
  await again.store.close()
  return problems
}

/** Promise 2.2: An undamaged store reports no loss. */
test('a store that was killed after any commit has lost nothing and reports nothing', async () => {
  const some = oneIn(4, [...moments.entries()])
  for (const [n, moment] of some) {
    const { dir } = copyOf(moment)
    const { store, told } = await open(dir)
    expect([told, ids(await readAll(store, 's'))]).toEqual([[], upTo(n + 1)])
    await store.close()
  }
  tally('damaged store', some.length, 0)
})

test('a log cut in half is reported with the number and time of missing records, and is kept', async () => {
  const { dir, wal } = copyOf(killed)
  truncateSync(wal, halfOfTheCommits())
  const damaged = readFileSync(wal)
  expect(readLosses(dir).missing).toMatchObject({ until: clock.now() })
  const { store, told } = await open(dir)
  const left = (await readAll(store, 's')).length
  await store.close()
  expect(left).toBeGreaterThan(0)
  expect(left).toBeLessThan(COMMITS)
  const newest = (JSON.parse(texts[left - 1] ?? '') as { created_at: string }).created_at
  expect(told).toEqual([
    expect.stringContaining(
      `error: ${COMMITS - left} records that had been acknowledged are missing: the newest that is left is of ${newest}, the newest that is known of ${new Date(clock.now()).toISOString()}.`,
    ),
  ])
  const kept = readdirSync(dir).find(name => name.startsWith('cairn.db-wal.kept-')) ?? ''
  expect(readFileSync(join(dir, kept)).equals(damaged)).toBe(true)
  expect(told[0]).toContain(kept)
  expect(readLosses(dir)).toMatchObject({ missing: null, past: [{ records: COMMITS - left }] })
})

/** Promise 2.2: Damage anywhere in the write-ahead log is reported. */
test('any cut, loss or flipped bit of the log is reported, and no id is used twice', LONG, async () => {
  const size = readFileSync(join(killed, 'cairn.db-wal')).length
  const draw = (min: number, max: number, seed: number) =>
    oneIn(40, fc.sample(fc.integer({ min, max }), { numRuns: 400, seed }))
  const cuts = draw(0, size - 1, 5)
  const bits = draw(32 * 8, size * 8 - 1, 6)
  const attacks: [what: string, damage: (wal: string) => void][] = [
    ['lost', wal => rmSync(wal)],
    ...cuts.map((cut): [string, (wal: string) => void] => [`cut at ${cut}`, wal => truncateSync(wal, cut)]),
    ...bits.map((bit): [string, (wal: string) => void] => [
      `bit ${bit}`,
      wal => {
        const bytes = readFileSync(wal)
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        writeFileSync(wal, bytes)
      },
    ]),
  ]
  const problems: string[] = []
  for (const [what, damage] of attacks) {
    const { dir, wal, db } = copyOf(killed)
    damage(wal)
    const found = await judge(dir).catch((error: unknown) =>
      // Without its log the file may be an incomplete database.
      error instanceof DamagedStore && error.message.includes(db) ? [] : [String(error)],
    )
    problems.push(...found.map(problem => `${what}: ${problem}`))
    rmSync(dir, { recursive: true, force: true })
  }
  tally('damaged store', attacks.length, problems.length)
  expect(problems).toEqual([])
})

test('an older copy of the database is reported as a loss', async () => {
  const { dir, db, wal } = copyOf(killed)
  for (const [name, path] of Object.entries({ 'cairn.db': db, 'cairn.db-wal': wal }))
    cpSync(join(moments[9] ?? '', name), path)
  rmSync(join(dir, 'cairn.db-shm'), { force: true })
  expect(await judge(dir)).toEqual([])
})

test('a second loss is reported separately, and readers of either are detected', async () => {
  const { dir, wal } = copyOf(killed)
  truncateSync(wal, halfOfTheCommits())
  const first = await open(dir)
  const left = (await readAll(first.store, 's')).length
  const from = (await first.store.sessions.get('s'))?.last_event_id ?? 0
  cpSync(dir, join(root, 'before-second'), { recursive: true })
  await first.store.commit({ session_id: 's', events: [thought('a'), thought('b')] })
  await first.store.close()
  const mark = readFileSync(join(dir, 'cairn.mark'))
  const second = copyOf(join(root, 'before-second'))
  writeFileSync(second.mark, mark)
  const { store, told } = await open(second.dir)
  expect(told).toEqual([expect.stringContaining('error: 2 records')])
  expect(await store.events.lostAt('s', left + 1)).toEqual({ after_id: left, last_id: left + COMMITS - left })
  expect(await store.events.lostAt('s', from + 1)).toEqual({ after_id: from, last_id: from + 2 })
  expect((await store.commit({ session_id: 's', events: [thought('c')] })).last_id).toBeGreaterThan(from + 2)
  expect(await store.check()).toEqual([])
  expect(readLosses(second.dir).past).toHaveLength(2)
  await store.close()
})

/** Promise 8.6: A log that lost its end discards the snapshots of it. */
test('a loss discards the snapshots, because their events may be gone', async () => {
  const { dir } = copyOf(killed)
  const { store } = await open(dir)
  await store.snapshots.save('quiet', { version: 'v', last_id: 1, body: '{}' })
  expect(await store.snapshots.read('quiet', 'v')).not.toBeNull()
  const before = copyOf(dir)
  await store.commit({ session_id: 's', events: [thought('a'), thought('b')] })
  await store.close()
  writeFileSync(before.mark, readFileSync(join(dir, 'cairn.mark')))
  const { store: after, told } = await open(before.dir)
  expect(told).toEqual([expect.stringContaining('error: 2 records')])
  expect(await after.snapshots.read('quiet', 'v')).toBeNull()
  await after.close()
})

test('an unreadable or foreign mark is reported and created again', async () => {
  const { dir, mark } = copyOf(killed)
  writeFileSync(mark, 'garbage')
  const unreadable = await open(dir)
  await unreadable.store.close()
  expect(unreadable.told).toEqual([expect.stringContaining('is unreadable and is created again')])
  writeFileSync(mark, JSON.stringify({ store: 'another', records: 7, at: 0 }))
  const foreign = await open(dir)
  await foreign.store.close()
  expect(foreign.told).toEqual([expect.stringContaining('belongs to another store')])
  const sound = await open(dir)
  await sound.store.close()
  expect(sound.told).toEqual([])
})

test('a missing database is reported, and a new store is created', async () => {
  const { dir, db, wal } = copyOf(killed)
  for (const file of [db, wal, join(dir, 'cairn.db-shm')]) rmSync(file, { force: true })
  const { store, told } = await open(dir)
  expect(told).toEqual([
    expect.stringContaining(
      `is missing or empty, so a new store is created. cairn.mark beside it counts ${COMMITS + 1} records`,
    ),
  ])
  await store.sessions.create(newSession('s'))
  expect((await store.commit({ session_id: 's', events: [thought('anew')] })).last_id).toBe(1)
  await store.close()
})

test('a mark that cannot be written is reported once, and the store works', async () => {
  const { dir, mark } = copyOf(killed)
  rmSync(mark)
  mkdirSync(mark)
  const { store, told } = await open(dir)
  for (let n = 0; n < 3; n++) await store.commit({ session_id: 's', events: [thought('on')] })
  await store.close()
  expect(told).toEqual([
    expect.stringContaining('is unreadable and is created again'),
    expect.stringContaining('the mark of the store cannot be written'),
  ])
})

/** Garbage in the database file itself, which contains everything. */
const settled = join(root, 'settled')
beforeAll(async () => {
  cpSync(killed, settled, { recursive: true })
  await (await open(settled)).store.close()
})

const whole: [what: string, bytes: (sound: Buffer) => Buffer][] = [
  ['text', () => Buffer.from('this is no database\n'.repeat(500))],
  ['zeroes', sound => Buffer.alloc(sound.length)],
  ['noise', sound => noise('whole', sound.length)],
  ['its first half', sound => sound.subarray(0, sound.length / 2)],
  ['its first page', sound => sound.subarray(0, 2048)],
  [
    'a header and noise',
    sound => Buffer.concat([sound.subarray(0, 100), noise('behind', sound.length - 100)]),
  ],
]
test.each(whole)(
  'a database that contains %s is rejected with the reason, and left unchanged',
  async (_what, bytes) => {
    const { dir, db } = copyOf(settled)
    const garbage = bytes(readFileSync(db))
    writeFileSync(db, garbage)
    const failed = open(dir)
    await expect(failed).rejects.toThrow(DamagedStore)
    await expect(failed).rejects.toThrow(`The database ${db} is damaged: `)
    await expect(failed).rejects.toThrow('Restore it from a backup')
    expect(readFileSync(db).equals(garbage)).toBe(true)
    expect(() => readLosses(dir)).toThrow(DamagedStore)
    tally('damaged store', 1, 0)
  },
)

test('garbage in any page is rejected at the start, or is harmless', async () => {
  const sound = readFileSync(join(settled, 'cairn.db'))
  const page = sound.readUInt16BE(16)
  const pages = oneIn(
    25,
    fc.sample(fc.integer({ min: 0, max: sound.length / page - 1 }), { numRuns: 400, seed: 7 }),
  )
  let refused = 0
  const problems: string[] = []
  for (const nth of pages) {
    const { dir, db } = copyOf(settled)
    const bytes = Buffer.from(sound)
    noise(`page ${nth}`, page).copy(bytes, nth * page)
    writeFileSync(db, bytes)
    try {
      const { store } = await open(dir)
      const found = (await readAll(store, 's')).map(({ json }) => json)
      if (found.join() !== texts.join()) problems.push(`page ${nth}: other records`)
      problems.push(...(await store.check()).map(problem => `page ${nth}: ${problem}`))
      await store.close()
    } catch (error) {
      if (error instanceof DamagedStore) refused++
      else problems.push(`page ${nth}: ${String(error)}`)
    }
    rmSync(dir, { recursive: true, force: true })
  }
  tally('damaged store', pages.length, problems.length)
  expect(problems).toEqual([])
  // In a small sample all pages may be harmless ones.
  expect(refused).toBeGreaterThan(RUN_ALL ? pages.length / 2 : 0)
})
