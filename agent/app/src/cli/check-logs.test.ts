import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '@cairn/log'
import { writer } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { checkLogs } from './check-logs.ts'

const owned = {
  org_id: 'org',
  created_by: 'u',
  created_by_kind: 'user',
  agent: 'assistant',
  channel: 'web',
} as const
const spawned = writer('coordination')('worker.spawned', {
  worker_id: 'child',
  goal: 'dig',
  kind: 'worker',
  agent: 'assistant',
  depth: 1,
})

/** Promise 9.3: `cairn doctor` checks the logs of a session tree against each other. */
test('reports logs of a session tree that contradict each other, with the session', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-check-logs-'))
  const store = await openSqliteStore({ dir })
  try {
    await store.sessions.create({ id: 'root', ...owned })
    const tie = { root_id: 'root', depth: 1, kind: 'worker', tool_call_id: null } as const
    const link = { child_id: 'child', parent_id: 'root', ...tie, task_id: null, attempt: null }
    const begin = writer('messages')('user.message', { content: 'Goal: dig', synthetic: 'worker_goal' })
    await store.commit({
      session_id: 'root',
      events: [spawned],
      rows: [{ do: 'link.open', link, max_open: 8, max_total: 50 }],
      also: [{ session_id: 'child', create: { ...owned, parent_id: 'root' }, events: [begin] }],
    })
    expect((await checkLogs(store, 'org')).problems).toEqual([])
    const end = writer('lifecycle')('session.complete', { reason: 'completed' })
    await store.commit({ session_id: 'child', events: [end] })
    expect((await checkLogs(store, 'org')).problems).toEqual([
      'session child: it has ended, but its parent has no outcome',
    ])
  } finally {
    await store.close()
    await rm(dir, { recursive: true })
  }
})
