/** A check is only worth what it finds: damage made behind the store's back. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '@cairn/log'
import { openDb } from '../src/sqlite/adapter.ts'
import { expect, test } from 'vitest'
import { delta, newSession, response, say } from './conformance/fixture.ts'

async function problemsAfter(damage: string): Promise<string[]> {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-check-'))
  try {
    const store = await openSqliteStore({ dir })
    await store.sessions.create(newSession('s'))
    await store.commit({
      session_id: 's',
      events: [say('a'), delta('b'), response('c'), say('d'), delta('e')],
    })
    await store.close()
    const db = openDb(join(dir, 'cairn.db'))
    db.exec(damage)
    db.close()
    // Read-only: a normal start would report what is missing and continue after it.
    const again = await openSqliteStore({ dir, readOnly: true })
    const problems = await again.check()
    await again.close()
    return problems
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

test.each([
  ['nothing', 'SELECT 1', []],
  [
    'a lost event',
    'DELETE FROM events WHERE id = 4',
    [
      'session s: 1 events are missing, 0 were pruned',
      'session s: event 4 is missing, and no llm.response follows it',
      'session s: message_count is 2, its log says 1',
      'session s: wake_id is 4, its log says 1',
    ],
  ],
  [
    'a lost last event',
    'DELETE FROM events WHERE id = 5',
    ['session s: its last event is 4, its row says 5'],
  ],
  [
    'a delta pruned without a record',
    'DELETE FROM events WHERE id = 2',
    ['session s: 1 events are missing, 0 were pruned'],
  ],
  [
    'a wrong counter',
    'UPDATE sessions SET output_tokens = 6',
    ['session s: output_tokens is 6, its log says 5'],
  ],
  [
    'a record of another event',
    `UPDATE events SET json = replace(json, '"id":1', '"id":7') WHERE id = 1`,
    ['session s: event 1 holds the record of another event'],
  ],
  [
    'a record that is not JSON',
    `UPDATE events SET json = 'x' WHERE id = 2`,
    ['session s: event 2 is not JSON'],
  ],
  [
    'a delta out of sight of pruning',
    'UPDATE sessions SET delta_low = 5',
    ['session s: event 2 is an llm.delta that pruning would never find'],
  ],
  [
    'events without a session',
    `UPDATE events SET session_key = 99 WHERE id = 5`,
    ['session s: its last event is 4, its row says 5', '1 events are in no log'],
  ],
])('a check finds %s', async (_, damage, expected) => {
  expect(await problemsAfter(damage)).toEqual(expected)
})
