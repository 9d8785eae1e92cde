/** Contract 6.10 and 6.11: sessions that start as a fork, and sessions restored from the archive. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { borrowPostgresPlace } from '@cairn/log/test/postgres-place'
import { writer } from '@cairn/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Service, startService } from './service.ts'

const turn = writer('turn')
const tools = writer('tools')
const answer = (content: string, calls: string[] = []) =>
  turn('llm.response', {
    message: {
      role: 'assistant',
      content,
      ...(calls.length > 0 && {
        tool_calls: calls.map(id => ({
          id,
          type: 'function' as const,
          function: { name: 'list_files', arguments: '{}' },
        })),
      }),
    },
    model: 'test/m',
    input_tokens: 10,
    output_tokens: 5,
    reasoning_tokens: 0,
    cache_read_tokens: 0,
    finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
    context_window: 1000,
    cost_usd: 0.5,
  })

/**
 * 1 message, 2 answer with a call, 3 call, 4 result, 5 answer, 6 message, 7 answer with a call, and no
 * result.
 */
async function talked(service: Service): Promise<string> {
  const id = await service.newSession()
  await service.say(id, 'first')
  await service.store.commit({
    session_id: id,
    events: [
      answer('', ['a']),
      tools('tool.call', { tool_call_id: 'a', name: 'list_files', arguments: {} }),
      tools('tool.result', { tool_call_id: 'a', name: 'list_files', content: 'notes.md', elapsed_ms: 1 }),
      answer('There is one.'),
    ],
  })
  await service.say(id, 'second')
  await service.store.commit({ session_id: id, events: [answer('I look.', ['b'])] })
  await mkdir(join(service.dir, 'workspaces', id), { recursive: true })
  await writeFile(join(service.dir, 'workspaces', id, 'notes.md'), 'kept')
  return id
}

const logOf = async (service: Service, id: string) =>
  (await service.store.events.read(id, 0, 100)).map(
    ({ json }) => JSON.parse(json) as { type: string; data: never },
  )

describe.each(['SQLite', 'Postgres'])('on %s', kind => {
  async function start(): Promise<Service> {
    if (kind === 'SQLite') return startService()
    const { place, remove } = await borrowPostgresPlace()
    onTestFinished(remove)
    return startService({ postgres: place })
  }
  const fork = (service: Service, id: string, event_id: number, token?: string) =>
    service.call(`/v1/sessions/${id}/fork`, { method: 'POST', body: { event_id }, ...(token && { token }) })

  /** Promise 6.11: A fork contains the conversation up to its event, at rest and without usage. */
  test('a fork contains the conversation up to its event and the files, is idle and has no cost', async () => {
    await using service = await start()
    const id = await talked(service)
    const before = await logOf(service, id)
    const { status, json } = await fork(service, id, 5)
    expect(status).toBe(201)
    expect(json).toMatchObject({
      agent: 'assistant',
      state: 'idle',
      cost_usd: 0,
      input_tokens: 0,
      tool_call_count: 0,
    })
    const [began, ...rest] = await logOf(service, json.id)
    expect(rest).toEqual([])
    expect(began).toMatchObject({
      type: 'user.message',
      data: {
        synthetic: 'fork',
        forked_from: { session_id: id, event_id: 5 },
        history: [
          { role: 'user', content: 'first' },
          { role: 'assistant', tool_calls: [{ id: 'a' }] },
          { role: 'tool', tool_call_id: 'a', content: 'notes.md' },
          { role: 'assistant', content: 'There is one.' },
        ],
      },
    })
    expect(await readFile(join(service.dir, 'workspaces', json.id, 'notes.md'), 'utf8')).toBe('kept')
    expect(await logOf(service, id), 'the other log is as it was').toEqual(before)
    // A call without a result is left out, and so is the answer that made it.
    const whole = await logOf(service, (await fork(service, id, 7)).json.id)
    expect(whole[0]).toHaveProperty('data.history.length', 5)
    const empty = await fork(service, id, 0)
    expect(await logOf(service, empty.json.id)).toEqual([])
    expect((await fork(service, id, 8)).json.code).toBe('wrong_target')
  })

  /** Promise 6.10: A restored session is active and at rest. */
  test('a restored session is active and idle, and only an archived session can be restored', async () => {
    await using service = await start()
    const id = await talked(service)
    const restore = () => service.call(`/v1/sessions/${id}/restore`, { method: 'POST' })
    expect((await restore()).json.code).toBe('wrong_state')
    await service.call(`/v1/sessions/${id}`, { method: 'DELETE' })
    const { status, json } = await restore()
    expect([status, json.status, json.state]).toEqual([200, 'active', 'idle'])
    expect(await service.store.leases.claim('worker', 1, 1000), 'nothing of it goes on').toEqual([])
    await service.say(id, 'third')
    expect(await service.store.leases.claim('worker', 1, 1000)).toHaveLength(1)
  })
})

/** Promise 6.11: A fork has the original's title, or none if nothing was said before. */
test('a fork has the title of the original, or none if it starts empty', async () => {
  await using service = await startService()
  const id = await talked(service)
  await service.call(`/v1/sessions/${id}`, { method: 'PATCH', body: { title: 'Notes' } })
  for (const [event_id, title] of [
    [5, 'Notes'],
    [0, null],
  ]) {
    const { json } = await service.call(`/v1/sessions/${id}/fork`, { method: 'POST', body: { event_id } })
    expect(json.title).toBe(title)
  }
})

test('a fork requires an event and belongs to the account that created it', async () => {
  await using service = await startService()
  const id = await talked(service)
  const { token } = await service.addUser(undefined, { admin: true })
  const made = await service.call(`/v1/sessions/${id}/fork`, { method: 'POST', body: { event_id: 5 }, token })
  expect(made.json.created_by).not.toBe((await service.call(`/v1/sessions/${id}`)).json.created_by)
  for (const body of [{}, { event_id: -1 }, { event_id: 1.5 }, { event_id: 1, agent: 'other' }])
    expect((await service.call(`/v1/sessions/${id}/fork`, { method: 'POST', body })).status).toBe(422)
})
