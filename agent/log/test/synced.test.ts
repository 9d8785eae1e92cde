/** Acknowledged means on disk (contract 2, 11), as seen by the kernel. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openDb } from '../src/sqlite/adapter.ts'
import { configureWriter } from '../src/sqlite/writer-connection.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'

const run = promisify(execFile)
const child = fileURLToPath(new URL('./write-in-turn.ts', import.meta.url))
const COUNT = 60
let dir = ''
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cairn-synced-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

/** A container may have strace and forbid it. */
function canTrace(): boolean {
  try {
    execFileSync('strace', ['-o', '/dev/null', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

type Call = { name: string; fd: number; path: string; text: string }
/** The finished calls of a trace in order; an interrupted call counts where it ended. */
function parseTrace(trace: string): Call[] {
  const begun = new Map<string, string>()
  return trace.split('\n').flatMap(line => {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    if (rest.endsWith('<unfinished ...>')) {
      begun.set(thread, rest.replace(' <unfinished ...>', ''))
      return []
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)
    const whole = resumed ? (begun.get(thread) ?? '') + (resumed[1] ?? '') : rest
    const found = /^(\w+)\((\d+)(?:<([^>]*)>)?(.*)= \d+$/.exec(whole)
    return found === null
      ? []
      : [{ name: found[1] ?? '', fd: Number(found[2]), path: found[3] ?? '', text: found[4] ?? '' }]
  })
}

/** Promise 11: A commit is written and synced before it is acknowledged, as seen by the kernel. */
test('no commit is acknowledged before a sync that started after its last write has ended', async () => {
  if (!canTrace()) {
    console.warn(
      'strace is missing or forbidden here: the order of write, sync and acknowledgement was NOT seen. ' +
        'Only the settings that it follows from are checked.',
    )
    const db = openDb(join(dir, 'settings.db'))
    configureWriter(db)
    expect([db.prepare('PRAGMA synchronous').get(), db.prepare('PRAGMA journal_mode').get()]).toEqual([
      { synchronous: 2 },
      { journal_mode: 'wal' },
    ])
    db.close()
    return
  }
  const trace = join(dir, 'trace')
  await run('strace', [
    '-f',
    '-y',
    '-e',
    'trace=fsync,fdatasync,pwrite64,write',
    '-e',
    'signal=none',
    '-o',
    trace,
    process.execPath,
    child,
    join(dir, 'store'),
    String(COUNT),
  ])
  const calls = parseTrace(await readFile(trace, 'utf8'))
  let acknowledged = 0
  /** Since the last acknowledgement, in the write-ahead log, which contains the commits. */
  let syncs = 0
  let written = 0
  let isSynced = true
  for (const { name, fd, path, text } of calls) {
    if (name === 'pwrite64' && path.endsWith('-wal')) {
      isSynced = false
      written++
    } else if (name !== 'write' && path.endsWith('-wal')) {
      isSynced = true
      syncs++
    } else if (fd === 1 && text.includes('acknowledged')) {
      acknowledged++
      expect(written, `writes before acknowledgement ${acknowledged}`).toBeGreaterThan(0)
      expect(syncs, `syncs before acknowledgement ${acknowledged}`).toBeGreaterThan(0)
      expect(isSynced, `nothing was written between the last sync and acknowledgement ${acknowledged}`).toBe(
        true,
      )
      syncs = written = 0
    }
  }
  expect(acknowledged).toBe(COUNT)
  console.log(`${acknowledged} commits, each written and synced before it was acknowledged`)
})
