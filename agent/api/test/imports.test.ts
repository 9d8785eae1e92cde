/** Contract 6.12: conversations that another program recorded become sessions. */
import { borrowPostgresPlace } from '@cairn/log/test/postgres-place'
import { writer } from '@cairn/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Service, startService } from './service.ts'

const call = (id: string) => ({
  id,
  type: 'function',
  function: { name: 'read_file', arguments: '{"path":"a"}' },
})
const TALK = [
  { role: 'user', content: 'What is in a?' },
  { role: 'assistant', content: 'I look.', tool_calls: [call('c1'), call('c2')] },
  { role: 'tool', tool_call_id: 'c2', content: 'two' },
  { role: 'tool', tool_call_id: 'c1', content: 'one' },
  { role: 'assistant', content: 'It has one.' },
]
const importing = (service: Service, body: object, token?: string) =>
  service.call('/v1/imports', {
    method: 'POST',
    body: { format: 'claude-code', source_id: 'x1', first: 0, messages: TALK, ...body },
    ...(token && { token }),
  })
const logOf = async (service: Service, id: string) =>
  (await service.store.events.read(id, 0, 100)).map(
    ({ json }) => JSON.parse(json) as { id: number; type: string; data: never },
  )

describe.each(['SQLite', 'Postgres'])('on %s', kind => {
  async function start(): Promise<Service> {
    if (kind === 'SQLite') return startService()
    const { place, remove } = await borrowPostgresPlace()
    onTestFinished(remove)
    return startService({ postgres: place })
  }

  /** Promise 6.12: An imported conversation is at rest, without usage, and a second import adds nothing. */
  test('an import is one idle session with every message in order, and again adds nothing', async () => {
    await using service = await start()
    const { status, json } = await importing(service, { title: 'Imported', system: 'Be brief.' })
    expect(status).toBe(200)
    expect(json).toMatchObject({ added: 5, total: 5, continued: false })
    expect(json.session).toMatchObject({
      state: 'idle',
      title: 'Imported',
      input_tokens: 0,
      tool_call_count: 0,
    })
    expect(await logOf(service, json.session.id)).toMatchObject([
      {
        type: 'user.message',
        data: {
          synthetic: 'import',
          history: TALK,
          imported: { format: 'claude-code', source_id: 'x1', first: 0, sha256: json.sha256 },
        },
      },
    ])
    const again = await importing(service, {})
    expect(again.json).toMatchObject({
      added: 0,
      total: 5,
      sha256: json.sha256,
      session: { id: json.session.id },
    })
    expect(await logOf(service, json.session.id)).toHaveLength(1)
    expect(await service.store.leases.claim('worker', 1, 1000), 'nothing to do').toEqual([])
  })

  test('parts follow each other, an overlap adds the rest only, and a gap is rejected', async () => {
    await using service = await start()
    await importing(service, { messages: TALK.slice(0, 1) })
    expect((await importing(service, { first: 4, messages: TALK.slice(4) })).json).toMatchObject({
      code: 'wrong_state',
      detail: expect.stringContaining('only 1 message imported'),
    })
    const rest = await importing(service, {})
    expect(rest.json).toMatchObject({ added: 4, total: 5 })
    const log = await logOf(service, rest.json.session.id)
    expect(log.flatMap(({ data }) => (data as { history: object[] }).history)).toEqual(TALK)
    const whole = await importing(service, { source_id: 'x2' })
    expect(whole.json.sha256, 'the hash does not depend on the parts').toBe(rest.json.sha256)
  })

  test('two imports at the same time add each message once', async () => {
    await using service = await start()
    const both = await Promise.all([1, 2, 3, 4].map(() => importing(service, {})))
    expect(both.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(both.reduce((sum, { json }) => sum + json.added, 0)).toBe(5)
    expect(await logOf(service, both[0]!.json.session.id)).toHaveLength(1)
  })
})

test('a session that continued accepts no later part, and says so when it is read', async () => {
  await using service = await startService()
  const { json } = await importing(service, { messages: TALK.slice(0, 1) })
  await service.say(json.session.id, 'and now?')
  expect((await importing(service, { messages: TALK.slice(0, 1) })).json).toMatchObject({
    added: 0,
    total: 1,
    continued: true,
  })
  expect((await importing(service, {})).json).toMatchObject({
    code: 'wrong_state',
    detail: expect.stringContaining('continued after its import'),
  })
})

test('messages that a model server would reject are rejected, with their position', async () => {
  await using service = await startService()
  const detailOf = async (messages: object[]) =>
    (await importing(service, { messages })).json.detail as string
  expect(await detailOf(TALK.slice(0, 2))).toMatch(/^messages\.1: call "c1" has no result/)
  expect(await detailOf([TALK[0]!, TALK[2]!])).toMatch(/^messages\.1: result of unknown call "c2"/)
  expect(await detailOf([TALK[1]!, TALK[0]!])).toMatch(/^messages\.1: call "c1" has no result before it/)
  expect(await detailOf([{ role: 'system', content: 'x' }])).toMatch(/^messages\.0/)
  expect((await importing(service, { messages: [] })).json).toMatchObject({ session: null, total: 0 })
})

test('another person who imports the same source gets a session of their own', async () => {
  await using service = await startService()
  const mine = await importing(service, {})
  const { token } = await service.addUser()
  const theirs = await importing(service, {}, token)
  expect(theirs.json.added).toBe(5)
  expect(theirs.json.session.id).not.toBe(mine.json.session.id)
})

test('a body of 3 MiB is accepted here, and of more than 4 MiB is not', async () => {
  await using service = await startService()
  const long = (mebibytes: number) => [{ role: 'user', content: 'x'.repeat(mebibytes * 1024 * 1024) }]
  expect((await importing(service, { messages: long(3) })).json).toMatchObject({ added: 1 })
  expect((await importing(service, { source_id: 'y', messages: long(4) })).status).toBe(413)
})

test('an imported answer can be rated by its position, and nothing else of the import', async () => {
  await using service = await startService()
  const { json } = await importing(service, {})
  const rate = (body: object, event = 1) =>
    service.call(`/v1/sessions/${json.session.id}/events/${event}/feedback`, {
      method: 'POST',
      body: { rating: 'up', ...body },
    })
  expect((await rate({ history_item: 4 })).status).toBe(201)
  for (const item of [{}, { history_item: 0 }, { history_item: 9 }])
    expect((await rate(item)).json.code, JSON.stringify(item)).toBe('wrong_target')
  expect((await logOf(service, json.session.id)).at(-1)).toMatchObject({
    type: 'user.feedback',
    data: { target_event_id: 1, history_item: 4, rating: 'up' },
  })
  // A rating is no continuation: the rest of the source can still be added.
  const more = [...TALK, { role: 'user', content: 'Thanks.' }]
  expect((await importing(service, { messages: more })).json).toMatchObject({ added: 1, total: 6 })
  await service.store.commit({
    session_id: json.session.id,
    events: [writer('turn')('llm.request', { model: 'm', turn_id: 't', iteration_index: 0 })],
  })
})
