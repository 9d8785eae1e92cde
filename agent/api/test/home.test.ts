/** The first page in one request: its parts, their limits, and what it shows to whom. */
import { randomUUID } from 'node:crypto'
import { ROUTES, writer } from '@cairn/protocol'
import { createActionItem } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { type Service, startService } from './service.ts'

const turn = writer('turn')
const lifecycle = writer('lifecycle')
const tools = writer('tools')
const where = { turn_id: 't', iteration_index: 0 }
const spent = (cost_usd: number) =>
  turn('llm.response', {
    message: { role: 'assistant', content: 'The parser is ready.' },
    model: 'm',
    input_tokens: 1,
    output_tokens: 1,
    reasoning_tokens: 0,
    cache_read_tokens: 0,
    finish_reason: 'stop',
    context_window: 1000,
    cost_usd,
    ...where,
  })

async function homeOf(service: Service, token = service.adminToken, prefix = '/v1') {
  await service.store.search.catchUp()
  const { status, json } = await service.call(`${prefix}/home`, { token })
  expect(status).toBe(200)
  return ROUTES.home.answer.parse(json)
}

const action = () =>
  createActionItem(
    { newId: randomUUID },
    { title: 'Log in', instructions: 'i', context: 'c', action_type: 'other', target: null, reason: 'r' },
  ).event

async function fill(service: Service, token: string) {
  const commit = (session_id: string, ...events: Parameters<typeof service.store.commit>[0]['events']) =>
    service.store.commit({ session_id, events, cursor: 'self' })
  const done = await service.newSession(token)
  await service.say(done, 'Write a parser', token)
  await commit(
    done,
    turn('llm.request', { model: 'm', ...where }),
    tools('tool.call', { tool_call_id: 'c', name: 'terminal', arguments: { command: 'npm test' } }),
  )
  service.advance(1000)
  await commit(done, spent(0.5), lifecycle('session.complete', { reason: 'completed' }))
  const running = await service.newSession(token)
  await service.say(running, 'Keep going', token)
  const failed = await service.newSession(token)
  await service.say(failed, 'Sync', token)
  await commit(
    failed,
    lifecycle('session.fail', {
      reason: 'retries',
      error_category: 'auth_failed',
      error: 'the provider rejected the key',
      retryable: false,
    }),
  )
  const asking = await service.newSession(token)
  await service.say(asking, 'Renew the token', token)
  await commit(asking, action())
  // A session without a message is nowhere.
  await service.newSession(token)
  await service.call('/v1/schedules', {
    method: 'POST',
    body: { session_id: done, prompt: 'Weekly report', every_s: 3600 },
    token,
  })
  return { done, running, failed, asking }
}

test('the first page shows needs, running, failed, recent, spend and what is next', async () => {
  await using service = await startService()
  const { done, running, failed, asking } = await fill(service, service.adminToken)
  const home = await homeOf(service)
  expect(home.needs).toMatchObject({ count: 1, items: [{ session_id: asking, kind: 'action_required' }] })
  expect(home.running.sessions.map(({ id }) => id)).toEqual([running])
  expect(home.failed.sessions).toMatchObject([
    { session: { id: failed }, category: 'auth_failed', error: 'the provider rejected the key' },
  ])
  expect(home.recent.map(({ id }) => id)).toEqual([done])
  expect(home.recent[0]).toMatchObject({
    shape: [['tool', 1]],
    last_step: { text: 'The parser is ready.' },
  })
  expect(home.spend).toMatchObject({ today_usd: 0.5, unpriced: false })
  expect(home.spend.days).toHaveLength(7)
  expect(home.spend.days.at(-1)).toEqual({
    day: new Date(service.now()).toISOString().slice(0, 10),
    cost_usd: 0.5,
  })
  expect(home.next).toMatchObject([{ name: 'Weekly report' }])
  service.advance(86_400_000)
  expect((await homeOf(service, await service.mintAdmin())).spend).toMatchObject({ today_usd: 0 })
})

/** Promise 4.2: The first page shows nothing of another tenant. */
test('the first page of another user, organisation or service account has nothing of it', async () => {
  await using service = await startService()
  const { token: owner } = await service.addUser()
  await fill(service, owner)
  const org_id = service.addOrganisation()
  const others = [
    [(await service.addUser()).token, '/v1'],
    [(await service.addUser(undefined, { admin: true, org_id })).token, '/v1'],
    [(await service.addServiceAccount()).token, '/v1/api'],
    [(await service.addServiceAccount({ scope: 'org', org_id })).token, '/v1/api'],
  ] as const
  for (const [token, prefix] of others) {
    const { spend, ...home } = await homeOf(service, token, prefix)
    expect(home).toEqual({
      needs: { count: 0, items: [] },
      running: { count: 0, sessions: [] },
      failed: { count: 0, sessions: [] },
      recent: [],
      next: [],
    })
    expect(spend.days.reduce((sum, { cost_usd }) => sum + cost_usd, 0)).toBe(0)
  }
  // The administrator of the organisation sees all of it.
  expect((await homeOf(service)).recent).toHaveLength(1)
  expect((await service.call('/v1/home', { token: null })).status).toBe(401)
})

test('a list has shapes only if it asks for them', async () => {
  await using service = await startService()
  const { done } = await fill(service, service.adminToken)
  await service.store.search.catchUp()
  const plain = await service.call('/v1/sessions')
  expect(plain.json.sessions.some((session: object) => 'shape' in session)).toBe(false)
  const shaped = await service.call('/v1/sessions?shape=true')
  const found = shaped.json.sessions.find((session: { id: string }) => session.id === done)
  expect(found).toMatchObject({ last_step: { text: 'The parser is ready.' } })
  expect(found.shape.length).toBeGreaterThan(0)
})
