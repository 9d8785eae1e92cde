/** Who may open a data directory, and with which version of its schema. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DirectoryInUse, openSqliteStore } from '@cairn/log'
import { openDb } from '../src/sqlite/adapter.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ids, newSession, readAll, say } from './conformance/fixture.ts'

let dir = ''
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cairn-open-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

test('a second server on a data directory is rejected with the id of the first process, until that is killed', async () => {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('./write-until-killed.ts', import.meta.url)), dir],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await once(child.stdout, 'data')
  const refusal: unknown = await openSqliteStore({ dir }).then(
    () => null,
    (error: unknown) => error,
  )
  expect(refusal).toBeInstanceOf(DirectoryInUse)
  expect((refusal as Error).message).toContain(`in use by process ${child.pid}`)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const store = await openSqliteStore({ dir })
  await store.close()
})

test('one process cannot open a data directory twice, and can again after closing it', async () => {
  const store = await openSqliteStore({ dir })
  await expect(openSqliteStore({ dir })).rejects.toThrow(`in use by process ${process.pid}`)
  await Promise.all([store.close(), store.close()])
  const again = await openSqliteStore({ dir })
  await again.close()
})

test('only the owner can read the files of a new store', async () => {
  const store = await openSqliteStore({ dir })
  await store.sessions.create(newSession('s'))
  for (const file of ['cairn.db', 'cairn.db-wal']) expect((await stat(join(dir, file))).mode & 0o077).toBe(0)
  await store.close()
})

test('a store of a newer version is rejected with both versions', async () => {
  await (await openSqliteStore({ dir })).close()
  const db = openDb(join(dir, 'cairn.db'))
  db.prepare('INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)').run(
    9999,
    '9999_later.sql',
    0,
  )
  db.close()
  await expect(openSqliteStore({ dir })).rejects.toThrow(
    /schema version 9999 and does not state which older programs .* knows up to \d+/,
  )
  await expect(openSqliteStore({ dir, readOnly: true })).rejects.toThrow(/schema version 9999/)
  // The rejection released the directory.
  await expect(openSqliteStore({ dir })).rejects.toThrow(/9999/)
})

test('a store of a running server can be read, checked and copied, and not written', async () => {
  const store = await openSqliteStore({ dir })
  await store.sessions.create(newSession('s'))
  await store.commit({ session_id: 's', events: [say('a')] })
  const beside = await openSqliteStore({ dir, readOnly: true })
  await store.commit({ session_id: 's', events: [say('b')] })
  expect(ids(await readAll(beside, 's'))).toEqual([1, 2])
  expect(await beside.check()).toEqual([])
  await expect(beside.commit({ session_id: 's', events: [say('c')] })).rejects.toThrow(
    'opened for reading only',
  )
  await beside.close()
  await store.close()
})

test('opening a directory without a store for reading fails with its name and creates nothing', async () => {
  await expect(openSqliteStore({ dir: join(dir, 'nothing'), readOnly: true })).rejects.toThrow('no store at')
  await expect(stat(join(dir, 'nothing'))).rejects.toThrow('ENOENT')
})

test('a backup of a store in use is a complete store as of one moment', async () => {
  const store = await openSqliteStore({ dir })
  await store.sessions.create(newSession('s'))
  const writing = new AbortController()
  const writers = (async () => {
    while (!writing.signal.aborted) await store.commit({ session_id: 's', events: [say('a'), say('b')] })
  })()
  await store.commit({ session_id: 's', events: [say('before'), say('the copy')] })
  const before = (await store.sessions.get('s'))?.last_event_id ?? 0
  const target = await mkdtemp(join(tmpdir(), 'cairn-copy-'))
  await store.backup(target)
  writing.abort()
  await writers
  const copy = await openSqliteStore({ dir: target })
  const copied = (await copy.sessions.get('s'))?.last_event_id ?? 0
  expect(copied).toBeGreaterThanOrEqual(before)
  expect(copied % 2).toBe(0)
  expect(await copy.check()).toEqual([])
  expect(await readAll(copy, 's')).toEqual((await readAll(store, 's')).slice(0, copied))
  await copy.close()
  await store.close()
  await rm(target, { recursive: true, force: true })
})

test('a closed store rejects writes, and completes the requests from before', async () => {
  const store = await openSqliteStore({ dir })
  await store.sessions.create(newSession('s'))
  const last = store.commit({ session_id: 's', events: [say('last')] })
  const closed = store.close()
  await expect(store.commit({ session_id: 's', events: [say('too late')] })).rejects.toThrow('clos')
  expect((await last).last_id).toBe(1)
  await closed
  const again = await openSqliteStore({ dir })
  expect(ids(await readAll(again, 's'))).toEqual([1])
  await again.close()
})
