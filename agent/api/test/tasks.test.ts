/** Contract 14.15: the task routes. The tests of the harness cover answers and cancellations. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { addBlockedTask as block } from './blocked-task.ts'
import { type Service, startService } from './service.ts'

const post = (service: Service, path: string, body: unknown, token?: string) =>
  service.call(path, { method: 'POST', body, ...(token === undefined ? {} : { token }) })

test('the tasks of a session are listed, and a second answer to a blocked one names the first decider', async () => {
  await using service = await startService()
  const owner = await service.newSession()
  const { task_id, worker_id } = await block(service, owner)
  const listed = await service.call(`/v1/sessions/${owner}/tasks`)
  expect(listed.json.tasks).toMatchObject([
    {
      task_id,
      session_id: owner,
      status: 'blocked',
      blocked_reason: 'Which way?',
      worker_id,
      attempt_count: 1,
    },
  ])
  expect((await post(service, `/v1/tasks/${task_id}/unblock`, { answer: ' ' })).status).toBe(422)
  expect((await post(service, `/v1/tasks/${task_id}/unblock`, {})).status).toBe(422)
  const first = await post(service, `/v1/tasks/${task_id}/unblock`, { answer: 'Left' })
  expect([first.status, first.json.status]).toEqual([200, 'ready'])
  const second = await post(service, `/v1/tasks/${task_id}/unblock`, { answer: 'Right' })
  expect([second.status, second.json.code, second.json.task_status, second.json.decided_by]).toEqual([
    409,
    'already_answered',
    'running',
    { kind: 'user', id: service.admin.id },
  ])
  const events = await service.call(`/v1/sessions/${worker_id}/events/poll`)
  expect(events.json.events).toMatchObject([
    { type: 'user.message', data: { synthetic: 'task_unblocked', content: 'Left', tool_call_id: 'blocks' } },
  ])
})

test('a task is cancelled once, and its session gets an event', async () => {
  await using service = await startService()
  const owner = await service.newSession()
  const { task_id, worker_id } = await block(service, owner)
  const cancelled = await post(service, `/v1/tasks/${task_id}/cancel`, { reason: 'not needed' })
  expect([cancelled.status, cancelled.json.status]).toEqual([200, 'cancelled'])
  expect(cancelled.json.error).toContain('not needed')
  const again = await post(service, `/v1/tasks/${task_id}/cancel`, {})
  expect([again.status, again.json.code, again.json.task_status]).toEqual([409, 'wrong_state', 'cancelled'])
  expect(await service.store.links.get(worker_id)).toMatchObject({
    status: 'failed',
    cause: 'cancelled',
  })
  expect((await post(service, `/v1/tasks/${task_id}/unblock`, { answer: 'x' })).status).toBe(409)
  const { json } = await service.call(`/v1/sessions/${owner}/events/poll`)
  expect(json.events).toMatchObject([{ type: 'worker.failed', data: { task_id, cause: 'cancelled' } }])
})

test('foreign and missing tasks return 404', async () => {
  await using service = await startService()
  const { token } = await service.addUser('bob@example.org')
  const owner = await service.newSession()
  const { task_id } = await block(service, owner)
  const calls = await Promise.all([
    service.call(`/v1/sessions/${owner}/tasks`, { token }),
    post(service, `/v1/tasks/${task_id}/unblock`, { answer: 'x' }, token),
    post(service, `/v1/tasks/${task_id}/cancel`, {}, token),
    post(service, `/v1/tasks/${randomUUID()}/unblock`, { answer: 'x' }),
  ])
  expect(calls.map(({ status }) => status)).toEqual([404, 404, 404, 404])
  expect((await service.store.tasks.get(task_id))?.status).toBe('blocked')
})
