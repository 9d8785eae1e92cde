/** Commits that are on disk before this thread received their answer. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '@cairn/log'
import { expect, onTestFinished, test } from 'vitest'
import { newSession, say } from './conformance/fixture.ts'

/** Promise 15.4: Events up to a session row's last id are readable at once, even if not yet in memory. */
test('a read of the log end is as new as the session row that shows its last id', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-log-'))
  const store = await openSqliteStore({ dir })
  onTestFinished(async () => {
    await store.close()
    await rm(dir, { recursive: true, force: true })
  })
  const session = await store.sessions.create(newSession('s'))
  // Watched: its newest events are in memory.
  const unwatch = store.events.watch('s', () => undefined)
  await store.commit({ session_id: 's', events: [say('one')] })
  const told = session.last_event_id + 1
  const landing = store.commit({ session_id: 's', events: [say('two')] })
  await new Promise(setImmediate)
  // The writer has it now. Only promises are awaited, so its answer cannot arrive before the row is read.
  for (let looks = 0; looks < 1_000_000; looks += 1)
    if ((await store.sessions.get('s'))?.last_event_id !== told) break
  expect((await store.events.read('s', told, 10)).map(({ id }) => id)).toEqual([told + 1])
  expect((await store.events.read('s', told, 10, ['user.message'])).map(({ id }) => id)).toEqual([told + 1])
  await landing
  unwatch()
})
