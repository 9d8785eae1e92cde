/**
 * Attacks on questions of an agent: foreign answers, repeated answers, races with the end of the question,
 * answers instead of approvals, secrets, and invisible characters.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeEvent, type SessionEvent, summarize, visibleText } from '@cairn/protocol'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { createGateItem, createQuestionItem } from '@cairn/sessions'
import { afterAll, expect, test } from 'vitest'
import { type Answer, startService } from '../service.ts'

const service = await startService()
afterAll(() => service[Symbol.asyncDispose]())
const { call, store, adminToken } = service
const ids = { newId: randomUUID }
const prompt = 'Which colour?'

type Asked = { session: string; tool_call_id: string; item: string }
async function ask(choices: string[] = []): Promise<Asked> {
  const session = await service.newSession()
  const tool_call_id = randomUUID()
  const question = {
    prompt,
    ...(choices.length > 0 && { choices: choices.map(label => ({ label })), allow_other: false }),
  }
  const created = createQuestionItem(ids, { tool_call_id, questions: [question] })
  await store.commit({ session_id: session, events: [created.event] })
  return { session, tool_call_id, item: created.item_id }
}
const respond = (
  { session, tool_call_id }: Pick<Asked, 'session' | 'tool_call_id'>,
  body: unknown = { responses: [{ question: prompt, answer: 'blue' }] },
  init: { token?: string; headers?: Record<string, string>; path?: string } = {},
): Promise<Answer> =>
  call(`${init.path ?? '/v1'}/sessions/${session}/questions/${tool_call_id}/respond`, {
    method: 'POST',
    body,
    ...init,
  })
const logOf = async (session: string): Promise<SessionEvent[]> =>
  (await store.events.read(session, 0, 1000)).map(({ json }) => decodeEvent(json))
const answersIn = async ({ session }: Asked): Promise<SessionEvent[]> =>
  (await logOf(session)).filter(({ type }) => type === 'ask_user_question.response')
const itemOf = async ({ item }: Asked) => await store.inbox.get(item)

const ATTEMPTS: Record<string, () => Promise<void>> = {
  'an answer to another principal’s question changes nothing': async () => {
    const asked = await ask()
    const elsewhere = await service.addUser(undefined, { org_id: service.addOrganisation(), admin: true })
    const { token: stranger } = await service.addUser()
    const { token: robot } = await service.addServiceAccount()
    for (const init of [{ token: elsewhere.token }, { token: stranger }, { token: robot, path: '/v1/api' }])
      expect((await respond(asked, undefined, init)).status).toBe(404)
    expect((await respond(asked, undefined, { token: robot })).status).toBe(403)
    expect(await answersIn(asked)).toEqual([])
    expect(await itemOf(asked)).toMatchObject({ status: 'pending' })
  },
  'another principal’s question cannot be answered through an own session': async () => {
    const asked = await ask()
    const { token } = await service.addUser()
    const session = await service.newSession(token)
    for (const tool_call_id of [asked.tool_call_id, `..%2F${asked.session}`, asked.item, '%00', '__proto__'])
      expect((await respond({ session, tool_call_id }, undefined, { token })).status).toBeGreaterThanOrEqual(
        400,
      )
    expect(await itemOf(asked)).toMatchObject({ status: 'pending' })
  },
  'fifty concurrent answers are one answer': async () => {
    const asked = await ask()
    const statuses = await Promise.all(
      Array.from(
        { length: 50 },
        async (_, n) =>
          (await respond(asked, { responses: [{ question: prompt, answer: `answer ${n}` }] })).status,
      ),
    )
    expect(statuses.toSorted()).toEqual([201, ...Array.from({ length: 49 }, () => 409)])
    expect(await answersIn(asked)).toHaveLength(1)
  },
  'an answer that races with a stop, a new message and an archive has one outcome': async () => {
    for (let n = 0; n < rounds(12, 200); n++) {
      const asked = await ask()
      const path = `/v1/sessions/${asked.session}`
      const [answered, , said, archived] = await Promise.all([
        respond(asked),
        call(`${path}/stop`, { method: 'POST', body: {} }),
        call(`${path}/messages`, {
          method: 'POST',
          body: { content: 'never mind', on_question: 'pass_over' },
        }),
        n % 2 === 0 ? call(path, { method: 'DELETE' }) : null,
      ])
      expect([201, 404, 409]).toContain(answered.status)
      expect([202, 404, 409]).toContain(said.status)
      expect([204, undefined]).toContain(archived?.status)
      const item = await itemOf(asked)
      const answers = await answersIn(asked)
      expect(answers).toHaveLength(answered.status === 201 ? 1 : 0)
      expect(item?.decision).toBe(
        answered.status === 201 ? 'answered' : said.status === 202 ? 'passed_over' : 'archived',
      )
    }
  },
  'an answer to an expired question is rejected': async () => {
    const asked = await ask()
    await call(`/v1/sessions/${asked.session}`, { method: 'DELETE' })
    const before = (await logOf(asked.session)).length
    expect([404, 409]).toContain((await respond(asked)).status)
    expect((await logOf(asked.session)).length).toBe(before)
  },
  'an answer does not approve a call, and an approval does not answer a question': async () => {
    const asked = await ask()
    const gate = createGateItem(ids, {
      tool_name: 'terminal',
      tool_call_id: randomUUID(),
      arguments_excerpt: '{}',
      deny_reason: 'asks',
      policy_id: 'require_approval',
      arguments_hash: 'h',
    })
    await store.commit({ session_id: asked.session, events: [gate.event] })
    const gated = (await logOf(asked.session)).at(-1)?.data as { tool_call_id: string }
    const answered = await respond(
      { ...asked, tool_call_id: gated.tool_call_id },
      { responses: [{ question: 'Approval needed: terminal', answer: 'approve' }] },
    )
    expect(answered.status).toBe(404)
    for (const body of [{ decision: 'approve' }, { completed: true }, { responses: [] }])
      expect((await call(`/v1/inbox/${asked.item}/respond`, { method: 'POST', body })).status).toBe(422)
    expect(await store.grants.find(asked.session, 'terminal', 'h')).toBeNull()
    expect(await store.inbox.get(gate.item_id)).toMatchObject({ status: 'pending' })
    expect(await itemOf(asked)).toMatchObject({ status: 'pending' })
  },
  'an answer cannot set its author or redefine the choices': async () => {
    const asked = await ask(['red', 'blue'])
    const answer = { question: prompt, answer: 'blue' }
    for (const body of [
      { responses: [answer], principal_user_id: 'somebody' },
      { responses: [answer], decided_by_user_id: 'somebody' },
      { responses: [{ ...answer, is_other: false }] },
      { responses: [{ ...answer, answer: 'green' }] },
      { responses: [{ ...answer, answer: 'blue\u200B' }] },
      { responses: [answer, answer] },
      { responses: Array.from({ length: 11 }, () => answer) },
      { responses: [{ question: '__proto__', answer: 'x' }] },
      { responses: { 0: answer } },
      { responses: [] },
      [],
    ])
      expect((await respond(asked, body)).status, JSON.stringify(body).slice(0, 80)).toBe(422)
    expect(await answersIn(asked)).toEqual([])
    expect((await respond(asked, { responses: [answer] })).status).toBe(201)
    expect(await itemOf(asked)).toMatchObject({ decided_by_user_id: service.admin.id })
  },
  'a secret in an answer is in no event, item or byte of the store': async () => {
    const secret = `sk-proj-${randomUUID().replaceAll('-', '')}`
    const asked = await ask()
    const body = { responses: [{ question: prompt, answer: `it is ${secret}, keep it` }] }
    const headers = { 'idempotency-key': randomUUID() }
    expect((await respond(asked, body, { headers })).status).toBe(201)
    expect(JSON.stringify(await logOf(asked.session))).toContain('it is [REDACTED], keep it')
    for (const file of ['cairn.db', 'cairn.db-wal'])
      expect(readFileSync(join(service.dir, 'store', file)).includes(secret), file).toBe(false)
    expect((await call(`/v1/inbox/${asked.item}`)).text).not.toContain(secret)
  },
  'an answer with invisible characters is stored, and its summary shows them escaped': async () => {
    for (const answer of [
      '\u202Eeulb',
      'b\u200Blue',
      '\u001B[2Jblue',
      'a\u0000b',
      '\uD800',
      'x'.repeat(900_000),
    ]) {
      const asked = await ask()
      const { status } = await respond(asked, { responses: [{ question: prompt, answer }] })
      expect([201, 400, 422]).toContain(status)
      const [event] = await answersIn(asked)
      expect(event === undefined).toBe(status !== 201)
      if (event === undefined) continue
      const line = summarize(event)
      expect(visibleText(line)).toBe(line)
      expect(line.length).toBeLessThan(300)
    }
  },
  'an idempotency key of one answer is invalid for another one': async () => {
    const [one, other] = [await ask(), await ask()]
    const headers = { 'idempotency-key': randomUUID() }
    const [first, again] = [
      await respond(one, undefined, { headers }),
      await respond(one, undefined, { headers }),
    ]
    expect([first.status, again.status, again.json.event_id]).toEqual([201, 201, first.json.event_id])
    expect(await answersIn(one)).toHaveLength(1)
    expect((await respond(other, undefined, { headers })).status).toBe(422)
    expect(await answersIn(other)).toEqual([])
  },
}

test.each(Object.entries(ATTEMPTS))('%s', async (name, attempt) => {
  let outcome: unknown = null
  await attempt().catch((error: unknown) => {
    outcome = error
  })
  tally(`questions: ${name}`, 1, outcome === null ? 0 : 1)
  if (outcome !== null) throw outcome
})

test('after all attempts questions are answered as before', async () => {
  expect((await respond(await ask(), undefined, { token: adminToken })).status).toBe(201)
})
