/** Contract 14.16: the board of a session tree over the API. The tests of its rules cover valid notes. */
import { randomUUID } from 'node:crypto'
import type { BoardChange } from '@cairn/log'
import { expect, test } from 'vitest'
import { addBlockedTask } from './blocked-task.ts'
import { type Service, startService } from './service.ts'

/** Writes to a board as a worker of its tree does. */
async function write(service: Service, root: string, writer: string, change: Partial<BoardChange>) {
  const { last_seq } = await service.store.board.read(root)
  const row = { root_id: root, last_seq, writer_id: writer, notes: [], supersede: [], renew: [], ...change }
  await service.store.commit({ session_id: writer, events: [], rows: [{ do: 'board.add', ...row }] })
}
const note = (type: 'FACT' | 'CLAIM' | 'RESULT', content: string, ttl_ms: number | null = null) => ({
  type,
  content,
  ref: type === 'RESULT' ? 'walls.md' : null,
  ttl_ms,
})

/** Promise 14.16: Every session of a tree shows the same board. */
test('every session of a tree shows the same current notes, with author and expiry', async () => {
  await using service = await startService()
  const root = await service.newSession()
  const { worker_id: worker } = await addBlockedTask(service, root)
  await write(service, root, worker, {
    notes: [
      note('FACT', 'The ford is shallow.'),
      note('RESULT', 'half a wall'),
      note('CLAIM', 'a well', 1000),
    ],
  })
  await write(service, root, worker, { notes: [note('RESULT', 'the wall')], supersede: [2] })
  const created_at = new Date(service.now()).toISOString()
  const common = { ref: null, writer_id: worker, created_at, expires_at: null }
  const [first, claim, wall] = [
    { ...common, id: 'n1', type: 'FACT', content: 'The ford is shallow.' },
    {
      ...common,
      id: 'n3',
      type: 'CLAIM',
      content: 'a well',
      expires_at: new Date(service.now() + 1000).toISOString(),
    },
    { ...common, id: 'n4', type: 'RESULT', content: 'the wall', ref: 'walls.md' },
  ]
  for (const session of [root, worker]) {
    const { status, json } = await service.call(`/v1/sessions/${session}/board`)
    expect([status, json]).toEqual([200, { group_id: root, notes: [first, claim, wall], next_seq: 5 }])
  }
  service.advance(2000)
  const { json } = await service.call(`/v1/sessions/${worker}/board`)
  expect([json.notes, json.next_seq]).toEqual([[first, wall], 5])
})

test('a session without workers has an empty board, and the API rejects foreign reads and all writes', async () => {
  await using service = await startService()
  const { token } = await service.addUser('bob@example.org')
  const id = await service.newSession()
  expect((await service.call(`/v1/sessions/${id}/board`)).json).toEqual({
    group_id: id,
    notes: [],
    next_seq: 1,
  })
  const bad = await Promise.all([
    service.call(`/v1/sessions/${id}/board`, { token }),
    service.call(`/v1/sessions/${randomUUID()}/board`),
    service.call('/v1/sessions/%00/board'),
    service.call(`/v1/sessions/${id}/board`, { method: 'POST', body: { notes: [{ type: 'FACT' }] } }),
    service.call(`/v1/sessions/${id}/board`, { method: 'DELETE' }),
  ])
  expect(bad.map(({ status, json }) => [status, json.code])).toEqual([
    [404, 'not_found'],
    [404, 'not_found'],
    [404, 'not_found'],
    [405, 'method_not_allowed'],
    [405, 'method_not_allowed'],
  ])
  expect((await service.store.board.read(id)).notes).toEqual([])
})
