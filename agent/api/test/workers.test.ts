/** Contract 4 and 14.4: the workers below a session, and the position of a session in its tree. */
import { randomUUID } from 'node:crypto'
import { createGateItem } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { addBlockedTask } from './blocked-task.ts'
import { startService } from './service.ts'
import { spawn } from './spawn.ts'

const gate = () =>
  createGateItem(
    { newId: randomUUID },
    {
      tool_name: 'terminal',
      tool_call_id: randomUUID(),
      arguments_excerpt: '{}',
      deny_reason: 'asks',
      policy_id: 'require_approval',
      arguments_hash: 'h',
    },
  )

/** Promise 4.13: A reader of a session can list all workers below it with their states. */
test('the workers below a session are listed in pages with their states', async () => {
  await using service = await startService()
  const root = await service.newSession()
  const lead = await spawn(service, root, 'lead the others')
  const below = await spawn(service, lead, 'count the eggs')
  const { json } = await service.call(`/v1/sessions/${root}/workers`)
  expect(json.next_cursor).toBeNull()
  expect(json.workers.map((worker: { worker_id: string }) => worker.worker_id)).toEqual([below, lead])
  expect(json.workers[0]).toEqual({
    worker_id: below,
    parent_id: lead,
    depth: 2,
    kind: 'worker',
    task_id: null,
    attempt: null,
    agent: 'assistant',
    goal: 'count the eggs',
    open_children: 0,
    blocked_reason: null,
    status: 'open',
    cause: null,
    state: 'running',
    waiting_on: null,
    usage: { input_tokens: 0, output_tokens: 0, cost_usd: 0, unpriced: false },
    last_event: { id: 1, type: 'user.message', at: new Date(service.now()).toISOString() },
    started_at: new Date(service.now()).toISOString(),
    ended_at: null,
  })
  expect(json.workers[1].open_children).toBe(1)
  // Newest first, and it is newer than the others.
  service.advance(1)
  const { worker_id } = await addBlockedTask(service, root)
  const [blocked] = (await service.call(`/v1/sessions/${root}/workers?limit=1`)).json.workers
  expect([blocked.worker_id, blocked.state, blocked.blocked_reason]).toEqual([
    worker_id,
    'idle',
    'Which way?',
  ])
  const first = await service.call(`/v1/sessions/${lead}/workers?limit=1`)
  expect(first.json.workers.map((worker: { worker_id: string }) => worker.worker_id)).toEqual([below])
  const pages = [await service.call(`/v1/sessions/${root}/workers?limit=2`)]
  pages.push(await service.call(`/v1/sessions/${root}/workers?limit=2&cursor=${pages[0]?.json.next_cursor}`))
  const ids = pages.flatMap(page =>
    page.json.workers.map((worker: { worker_id: string }) => worker.worker_id),
  )
  expect(ids).toEqual([worker_id, below, lead])
  expect(pages[1]?.json.next_cursor).toBeNull()
  expect((await service.call(`/v1/sessions/${root}/workers?cursor=1`)).json.code).toBe('invalid_cursor')
  expect((await service.call(`/v1/sessions/${root}/workers?status=gone`)).status).toBe(400)
  expect((await service.call(`/v1/sessions/${root}/workers?status=complete,failed`)).json.workers).toEqual([])
})

/** Promise 4.13: A session record contains its position in its tree. */
test('a session has its position in the tree, and listings filter by root or parent', async () => {
  await using service = await startService()
  const root = await service.newSession()
  const child = await spawn(service, root, 'count the eggs')
  expect((await service.call(`/v1/sessions/${root}`)).json).toMatchObject({
    root_id: root,
    depth: 0,
    open_children: 1,
    children_cost_usd: 0,
  })
  expect((await service.call(`/v1/sessions/${child}`)).json).toMatchObject({ root_id: root, depth: 1 })
  const listed = async (query: string): Promise<string[]> =>
    (await service.call(`/v1/sessions${query}`)).json.sessions.map(({ id }: { id: string }) => id)
  expect(await listed('')).toEqual([child, root])
  expect(await listed('?parent_id=none')).toEqual([root])
  expect(await listed(`?parent_id=${root}`)).toEqual([child])
  const { token } = await service.addUser()
  const foreign = await service.call(`/v1/sessions?parent_id=${root}`, { token })
  expect(foreign.json.sessions).toEqual([])
})

/** Promise 4.13: The inbox of a root session lists the items of its workers. */
test('an approval of a worker is listed for its root and names the worker', async () => {
  await using service = await startService()
  const root = await service.newSession()
  const child = await spawn(service, root, 'count the eggs')
  await service.store.commit({ session_id: child, events: [gate().event] })
  const listed = async (query: string) => (await service.call(`/v1/inbox${query}`)).json.items
  expect(await listed(`?session_id=${root}`)).toEqual([])
  expect(await listed(`?session_id=${root}&descendants=false`)).toEqual([])
  expect(await listed(`?session_id=${root}&descendants=true`)).toMatchObject([
    { session_id: child, root_session_id: root },
  ])
  const alone = await service.call('/v1/inbox?descendants=true')
  expect([alone.status, alone.json.code]).toEqual([400, 'bad_request'])
  expect(alone.json.detail).toContain('session_id')
  expect((await service.call('/v1/inbox?session_id=x&descendants=yes')).status).toBe(400)
  const { token } = await service.addUser()
  const foreign = await service.call(`/v1/inbox?session_id=${root}&descendants=true`, { token })
  expect(foreign.json.items).toEqual([])
})
