/**
 * What a power cut may leave of the write-ahead log: any prefix of it, or a page with a flipped bit. The
 * store that is opened on it contains exactly the complete commits, never a part of one, and never an event
 * that was not written.
 */
import { copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { existsSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '@cairn/log'
import { createReader } from '../src/sqlite/reader.ts'
import { openDb } from '../src/sqlite/adapter.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { oneIn } from '@cairn/protocol/test/sample'
import { ids, newSession, readAll, thought, upTo } from './conformance/fixture.ts'

const COMMITS = 40
const EACH = 3
/** Many small files are created and read; a memory file system is enough. */
const base = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

let root = ''
/** The length of the log when each commit was acknowledged. */
const ends: number[] = []
let wal: Buffer
let texts: string[]
/** Bytes of a frame: its page and the header before it. */
let frameSize = 0
beforeAll(async () => {
  root = await mkdtemp(join(base, 'cairn-torn-'))
  const live = join(root, 'live')
  const store = await openSqliteStore({ dir: live })
  await store.sessions.create(newSession('s'))
  for (let n = 0; n < COMMITS; n++) {
    await store.commit({
      session_id: 's',
      events: Array.from({ length: EACH }, (_, at) => thought(`${n}.${at} ${'x'.repeat(n * 20)}`)),
    })
    ends.push((await stat(join(live, 'cairn.db-wal'))).size)
  }
  texts = (await readAll(store, 's')).map(event => event.json)
  // While it is open, so that nothing has been moved out of the log; no write is running.
  await copyFile(join(live, 'cairn.db'), join(root, 'cairn.db'))
  wal = await readFile(join(live, 'cairn.db-wal'))
  // The page size is in the header of the log.
  frameSize = wal.readUInt32BE(8) + 24
  await store.close()
})
afterAll(() => rm(root, { recursive: true, force: true }))

let opened = 0
/** A store with these bytes as its log; returns its folder. */
async function reopen(bytes: Buffer): Promise<string> {
  const dir = join(root, `cut-${(opened += 1)}`)
  mkdirSync(dir)
  await copyFile(join(root, 'cairn.db'), join(dir, 'cairn.db'))
  await writeFile(join(dir, 'cairn.db-wal'), bytes)
  return dir
}
async function readCut(bytes: Buffer): Promise<string[]> {
  const dir = await reopen(bytes)
  const db = openDb(join(dir, 'cairn.db'), { readOnly: true })
  try {
    return createReader(db)
      .read('s', 0, 10_000)
      .map(event => event.json)
  } finally {
    db.close()
    await rm(dir, { recursive: true })
  }
}
const wholeCommits = (length: number): number => ends.filter(end => end <= length).length

test('the log has the length and frame size that these tests assume', () => {
  expect(texts).toHaveLength(COMMITS * EACH)
  expect(wal.length).toBe(ends.at(-1))
  expect((wal.length - 32) % frameSize).toBe(0)
})

/** Promise 11: A log cut at any byte contains exactly its complete commits. */
test('a log cut at any byte of its last frame or around a frame contains exactly its complete commits', async () => {
  const bytes = Array.from({ length: frameSize + 1 }, (_, at) => wal.length - frameSize + at)
  const cuts = new Set(oneIn(8, bytes))
  const from = ends[COMMITS - 12] ?? 0
  for (let frame = from; frame < wal.length; frame += frameSize)
    for (const off of [-1, 0, 1, 8, 23, 24, 25, 100, 2048]) cuts.add(frame + off)
  for (const cut of cuts) {
    const found = await readCut(wal.subarray(0, cut))
    const expected = wholeCommits(cut) * EACH
    if (found.length !== expected || found.some((json, at) => json !== texts[at]))
      expect({ cut, found: found.length }).toEqual({ cut, found: expected })
  }
  expect(cuts.size).toBeGreaterThan(frameSize / 8)
})

test('a flipped bit ends the log before its commit, and later commits are ignored', async () => {
  const last = ends[COMMITS - 10] ?? 0
  const places = fc.sample(fc.integer({ min: last * 8, max: wal.length * 8 - 1 }), { numRuns: 400, seed: 12 })
  for (const place of places) {
    const bytes = Buffer.from(wal)
    bytes[place >> 3] = (bytes[place >> 3] ?? 0) ^ (1 << (place & 7))
    const found = await readCut(bytes)
    // A flipped bit in the data of a page breaks its checksum; one in a header field that SQLite does not use
    // changes nothing.
    const before = wholeCommits(place >> 3) * EACH
    expect(
      found.length === before || found.length === texts.length,
      `bit ${place}: ${found.length} events, ${before} before it`,
    ).toBe(true)
    expect(found).toEqual(texts.slice(0, found.length))
  }
})

test('a store opened on a truncated log is healthy, and continues after the complete commits', async () => {
  for (const cut of [32, ends[3] ?? 0, (ends[20] ?? 0) + 5000, wal.length - 1]) {
    const dir = await reopen(wal.subarray(0, cut))
    const store = await openSqliteStore({ dir })
    expect(await store.check()).toEqual([])
    const before = wholeCommits(cut) * EACH
    expect(ids(await readAll(store, 's'))).toEqual(upTo(before))
    if (before > 0)
      expect((await store.commit({ session_id: 's', events: [thought('on')] })).last_id).toBe(before + 1)
    await store.close()
  }
})
