/**
 * Acknowledged means on disk (contract 11): killed processes, full disks, and the required SQLite settings.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { openSqliteStore } from '@cairn/log'
import { createBatchWriter, type Transactional } from '../src/sqlite/batch-writer.ts'
import { migrate, readMigrations } from '../src/sqlite/migrate.ts'
import { openDb } from '../src/sqlite/adapter.ts'
import { configureWriter } from '../src/sqlite/writer-connection.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ids, newSession, readAll, thought, upTo } from './conformance/fixture.ts'

const child = fileURLToPath(new URL('./write-until-killed.ts', import.meta.url))
let dir = ''
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cairn-durable-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

/** Runs until `enough` accepts the number of printed lines, then kills; resolves with all printed lines. */
async function runChild(
  process: ChildProcessByStdio<null, Readable, null>,
  enough: (lines: number) => boolean,
): Promise<string[]> {
  const lines: string[] = []
  for await (const line of createInterface({ input: process.stdout })) {
    lines.push(line)
    if (enough(lines.length)) process.kill('SIGKILL')
  }
  if (process.exitCode === null && process.signalCode === null) await once(process, 'exit')
  return lines
}

/** Promise 11.1: An acknowledged event is on disk. */
test('ten kills at random moments lose no acknowledged event and leave no gap', async () => {
  const acknowledged: number[] = []
  const told: string[] = []
  for (let round = 0; round < 10; round += 1) {
    const lines = 1 + Math.floor(Math.random() * 600)
    const printed = await runChild(
      spawn(process.execPath, [child, dir], { stdio: ['ignore', 'pipe', 'inherit'] }),
      count => count >= lines,
    )
    expect(printed[0]).toBe('ready')
    acknowledged.push(
      ...printed
        .slice(1)
        .filter(line => /^\d+$/.test(line))
        .map(Number),
    )
    // The mark of the killed process is exact: nothing is missing, and nothing is reported missing.
    const store = await openSqliteStore({ dir, report: (_, message) => told.push(message) })
    const stored = ids(await readAll(store, 's'))
    expect(stored).toEqual(upTo(stored.length))
    expect(Math.max(0, ...acknowledged)).toBeLessThanOrEqual(stored.length)
    // Commits are complete: three events each.
    expect(stored.length % 3).toBe(0)
    expect(await store.check()).toEqual([])
    await store.close()
  }
  expect(told).toEqual([])
  expect(new Set(acknowledged).size).toBe(acknowledged.length)
  expect(acknowledged.length).toBeGreaterThan(100)
})

test('a full disk fails the writers, and every acknowledged event is kept', async () => {
  // A limit on file sizes simulates a full disk: the write-ahead log cannot grow past it.
  const limited = spawn(
    '/bin/sh',
    ['-c', `ulimit -f 2000; exec "$0" "$@"`, process.execPath, child, dir, 'x'.repeat(2000)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const printed = await runChild(limited, () => false)
  const failures = printed.filter(line => line.startsWith('failed'))
  expect(failures).toHaveLength(8)
  expect(new Set(failures)).toEqual(new Set(['failed AppError storage']))
  const acknowledged = printed.filter(line => /^\d+$/.test(line)).map(Number)
  expect(acknowledged.length).toBeGreaterThan(30)
  const store = await openSqliteStore({ dir })
  expect(ids(await readAll(store, 's'))).toEqual(upTo(Math.max(...acknowledged)))
  expect(await store.check()).toEqual([])
  await store.close()
})

const commit = (text: string): Transactional => ({
  do: 'commit',
  at: 1,
  session_id: 's',
  events: [['llm.thinking', JSON.stringify(thought(text).data), null]],
})

/** Promise 11.1: The log does not acknowledge a write that the disk refuses. */
test('a batch that the disk rejects is not acknowledged, and the next one succeeds', () => {
  const db = openDb(join(dir, 'full.db'))
  configureWriter(db)
  migrate(db, readMigrations(), 0)
  const run = createBatchWriter(db)
  expect(run([{ do: 'create', at: 1, session: newSession('s'), config: '{}' }])).toMatchObject([
    ['done', expect.anything()],
  ])
  expect(run([commit('a')])).toMatchObject([['done', { last: 1 }]])
  const { page_count } = db.prepare('PRAGMA page_count').get() as { page_count: number }
  db.exec(`PRAGMA max_page_count = ${page_count}`)
  const big = 'x'.repeat(100_000)
  const answers = run([0, 1, 2].map(() => commit(big)))
  expect(answers).toMatchObject([0, 1, 2].map(() => ['failed', expect.stringContaining('full'), true]))
  expect(db.isTransaction).toBe(false)
  db.exec('PRAGMA max_page_count = 1000000')
  expect(run([commit('b')])).toMatchObject([['done', { last: 2 }]])
  expect(
    db
      .prepare('SELECT id FROM events ORDER BY id')
      .all()
      .map(row => row['id']),
  ).toEqual([1, 2])
  db.close()
})

test('the writing connection runs with synchronous FULL in WAL mode', () => {
  const db = openDb(join(dir, 'settings.db'))
  configureWriter(db)
  expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
  expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
  db.close()
})
