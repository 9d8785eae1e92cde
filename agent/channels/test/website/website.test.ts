/** The routes of the website widget: what a visitor can reach and other visitors cannot. */
import { randomUUID } from 'node:crypto'
import { createGateItem, createQuestionItem } from '@cairn/sessions'
import { writer } from '@cairn/protocol'
import { SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { KINDS, type Kind, logOf, makeBench } from '../bench.ts'
import { response } from '../worker.ts'
import { ask, IDENTITY_SECRET, SITE, visit } from './visit.ts'

const tools = writer('tools')
const CANARY = 'canary-that-no-visitor-may-see'

async function startSite(
  kind: Kind = 'sqlite',
  settings = {},
  { echo = true, level = 'basic' as const } = {},
) {
  const bench = await makeBench(
    kind,
    {},
    { disclosure: { level, operator: 'Example Ltd' } },
    {
      echo,
      env: { WEB_ID: IDENTITY_SECRET },
      only: {
        site: {
          platform: 'website',
          origins: [SITE],
          identity_secret_env: 'WEB_ID',
          access: 'open',
          agent: 'greeter',
          ...settings,
        },
      },
    },
  )
  const channels = await bench.start()
  const [connection] = await bench.store.channels.listConnections('org_1')
  return { bench, channels, store: bench.store, key: `cairn_wk_${connection!.id}` }
}
const signIdentity = (claims: Record<string, unknown>, seconds = 120, secret = IDENTITY_SECRET) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime(Math.floor(Date.now() / 1000) + seconds)
    .sign(new TextEncoder().encode(secret))

/** Promise 15.7: A visitor sees only the listed keys of a conversation. */
test.each(KINDS)('on %s a visitor holds a conversation and sees only the listed keys of it', async kind => {
  const { channels, store, key } = await startSite(kind, {}, { echo: false })
  const ann = await visit(channels, { key, language: 'de-AT' })
  expect(ann.begun).toMatchObject({
    status: 201,
    json: { disclosure: { level: 'basic', language: 'de', text: expect.stringContaining('KI-System') } },
  })
  expect(ann.begun.headers.get('set-cookie')).toMatch(/; HttpOnly; Secure; SameSite=None; Partitioned$/)
  expect((await ann.say('hello')).status).toBe(202)
  const question = createQuestionItem(
    { newId: randomUUID },
    {
      tool_call_id: 'call_1',
      questions: [{ prompt: 'Which?', choices: [{ label: 'Red', description: CANARY }] }],
    },
  )
  const gate = createGateItem(
    { newId: randomUUID },
    {
      tool_name: CANARY,
      tool_call_id: 'call_2',
      arguments: { command: CANARY },
      arguments_excerpt: CANARY,
      deny_reason: CANARY,
      policy_id: CANARY,
      arguments_hash: CANARY,
    },
  )
  const call = tools('tool.call', { tool_call_id: 'c', name: CANARY, arguments: { a: CANARY } })
  await store.commit({ session_id: ann.id, events: [call, response('hi **there**'), question.event] })
  const answered = await ann.post('questions/call_1/respond', {
    body: { responses: [{ question: 'Which?', answer: 'Red' }] },
  })
  expect(answered.status).toBe(202)
  await store.commit({ session_id: ann.id, events: [gate.event] })
  expect(await store.leases.claim('w', 10, 60_000)).toHaveLength(1)
  expect((await ann.post('stop')).status).toBe(204)
  const records = await ann.stream(seen => seen.at(-1)?.type === 'state' && seen.length > 6)
  expect(records.map(({ type, data }) => [type, data])).toEqual([
    ['disclosure.presented', { level: 'basic', language: 'de' }],
    ['user.message', { content: 'hello' }],
    ['llm.response', { message: { content: 'hi **there**' } }],
    [
      'inbox.input_required',
      { tool_call_id: 'call_1', questions: [{ prompt: 'Which?', choices: [{ label: 'Red' }] }] },
    ],
    [
      'ask_user_question.response',
      { tool_call_id: 'call_1', responses: [{ question: 'Which?', answer: 'Red' }] },
    ],
    ['inbox.governance_gate', {}],
    ['session.stopped', {}],
    ['state', { working: false, ended: false }],
  ])
  expect(JSON.stringify(records)).not.toContain(CANARY)
  const log = await logOf(store, ann.id)
  expect(log[0]).toMatchObject({ type: 'disclosure.presented', data: { channel: 'website' } })
  expect(log[1]?.data).toMatchObject({
    source: { platform: 'website', chat_type: 'dm' },
    principal_service_account_id: expect.any(String),
  })
  expect(log.at(-1)?.data).toMatchObject({ reason: 'channel_stop' })
})

const WRITES = [
  ['messages', { content: 'mine now' }],
  ['stop', undefined],
  ['end', undefined],
  ['questions/call_1/respond', { responses: [{ question: 'q', answer: 'a' }] }],
  ['confirm-disclosure', undefined],
] as const

/** Promise 15.7: A visitor reaches only their own conversations. */
test('every route returns 404 to another visitor and without a token, and changes nothing', async () => {
  const { channels, store, key } = await startSite('sqlite', {}, { echo: false })
  const ann = await visit(channels, { key })
  await ann.say('hello')
  const before = await logOf(store, ann.id)
  const bob = await visit(channels, { key })
  expect(bob.id).not.toBe(ann.id)
  for (const who of [
    bob,
    { cookie: null, csrf: ann.csrf },
    { cookie: 'cairn_visitor_x=y', csrf: ann.csrf },
  ]) {
    for (const [rest, body] of WRITES)
      await expect(
        ask(channels, `sessions/${ann.id}/${rest}`, { cookie: who.cookie, csrf: who.csrf, body }),
      ).rejects.toMatchObject({ code: 'not_found' })
    const read = ask(channels, `sessions/${ann.id}/events`, { method: 'GET', cookie: who.cookie })
    await expect(read).rejects.toMatchObject({ code: 'not_found' })
  }
  // A visitor cannot read the operator's own session either.
  const own = await store.sessions.create({
    id: randomUUID(),
    org_id: 'org_1',
    created_by: 'ann',
    created_by_kind: 'user',
    agent: 'greeter',
    channel: 'web',
    title: null,
    config: {},
  })
  await expect(
    ask(channels, `sessions/${own.id}/events`, { method: 'GET', cookie: ann.cookie }),
  ).rejects.toMatchObject({ code: 'not_found' })
  expect(await logOf(store, ann.id)).toEqual(before)
})

/** Promise 15.7: A visitor's write requires the conversation's token and an allowed origin. */
test('a write requires the token of its conversation and an allowed origin', async () => {
  const { channels, store, key } = await startSite('sqlite', {}, { echo: false })
  const ann = await visit(channels, { key })
  const before = await logOf(store, ann.id)
  for (const [rest, body] of WRITES) {
    for (const csrf of [null, 'x'.repeat(32), (await visit(channels, { key })).csrf])
      await expect(ann.post(rest, { csrf, body })).rejects.toMatchObject({ code: 'csrf' })
    for (const origin of [null, 'https://evil.example', 'null', 'http://shop.example'])
      await expect(ann.post(rest, { origin, body })).rejects.toMatchObject({ code: 'origin_not_allowed' })
  }
  const begin = ask(channels, 'sessions', { body: { key }, origin: 'https://evil.example' })
  await expect(begin).rejects.toMatchObject({ code: 'origin_not_allowed' })
  const form = ann.post('messages', { headers: { 'content-type': 'text/plain' } })
  await expect(form).rejects.toMatchObject({ code: 'unsupported_media_type' })
  expect(await logOf(store, ann.id)).toEqual(before)
  expect((await ann.post('messages', { origin: SITE, body: { content: 'hello' } })).status).toBe(202)
})

test('an identified customer has one conversation across browsers, and an invalid JWT is rejected', async () => {
  const { channels, key } = await startSite()
  const claims = { sub: 'customer-1', name: 'Ann' }
  const here = await visit(channels, { key, identity: await signIdentity(claims) })
  const there = await visit(channels, { key, identity: await signIdentity(claims) })
  expect(there.id).toBe(here.id)
  // The same browser, logged out: another visitor.
  expect((await visit(channels, { key }, here.cookie)).id).not.toBe(here.id)
  await here.say('hello')
  const records = await there.stream(seen => seen.some(({ type }) => type === 'llm.response'))
  expect(records.map(({ type }) => type)).toContain('user.message')
  const none = Buffer.from('{"alg":"none"}').toString('base64url')
  const payload = Buffer.from(JSON.stringify({ ...claims, exp: Date.now() })).toString('base64url')
  for (const identity of [
    await signIdentity(claims, 120, 'another-secret-of-the-same-length'),
    await signIdentity(claims, -1),
    await signIdentity(claims, 600),
    await signIdentity({ name: 'nobody' }),
    // jose requires `sub` but does not check its type.
    await signIdentity({ sub: 42 }),
    await signIdentity({ sub: ['customer-1'] }),
    await signIdentity({ sub: null }),
    `${none}.${payload}.`,
    'nonsense',
  ])
    await expect(visit(channels, { key, identity })).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('with require_confirm no message is accepted before the disclosure is confirmed', async () => {
  const { channels, store, key } = await startSite('sqlite', { require_confirm: true })
  const ann = await visit(channels, { key })
  expect(ann.begun.json).toMatchObject({ require_confirm: true, confirmed: false })
  await expect(ann.say('hello')).rejects.toMatchObject({ code: 'disclosure_required' })
  expect((await ann.post('confirm-disclosure')).status).toBe(204)
  expect((await ann.say('hello')).status).toBe(202)
  const [told, confirmed, said] = await logOf(store, ann.id)
  expect([told?.type, confirmed?.type, said?.type]).toEqual([
    'disclosure.presented',
    'disclosure.confirmed',
    'user.message',
  ])
  expect(confirmed?.data).toMatchObject({
    level: 'basic',
    source: 'web_banner',
    visitor_id: expect.any(String),
  })
  expect((await visit(channels, { key }, ann.cookie)).begun.json).toMatchObject({ confirmed: true })
})

/** Promise 15.3: A visitor's message is stored once, however often it is sent. */
test.each(KINDS)('on %s a repeated message is stored once, even if the first answer was lost', async kind => {
  const { bench, channels, store, key } = await startSite(kind)
  const ann = await visit(channels, { key })
  const answers = await Promise.all(Array.from({ length: 4 }, () => ann.say('hello', 'key-1')))
  expect(new Set(answers.map(({ json }) => json['event_id'])).size).toBe(1)
  // A process that died between the row and the message.
  let isDead = true
  const commit: typeof store.commit = async commit => {
    if (isDead && JSON.stringify(commit.events).includes('mortal')) throw new Error('killed')
    return store.commit(commit)
  }
  const dying = await bench.start(
    new Proxy(store, { get: (of, name) => (name === 'commit' ? commit : Reflect.get(of, name, of)) }),
  )
  const again = { ...ann, say: (await visit(dying, { key }, ann.cookie)).say }
  await expect(again.say('mortal', 'key-2')).rejects.toThrow('killed')
  isDead = false
  expect((await ann.say('mortal', 'key-2')).status).toBe(202)
  const said = (await logOf(store, ann.id)).filter(({ type }) => type === 'user.message')
  expect(said.map(({ data }) => (data as { content: string }).content)).toEqual(['hello', 'mortal'])
})

test('a new conversation follows an ended one, and a token expires after 30 days', async () => {
  const { bench, channels, store, key } = await startSite('sqlite', {}, { echo: false })
  const ann = await visit(channels, { key })
  await ann.say('hello')
  expect((await ann.post('end')).status).toBe(204)
  const ended = await ann.stream(seen => seen.some(({ type }) => type === 'state'))
  expect(ended.at(-1)).toMatchObject({ type: 'state', data: { ended: true } })
  const next = await visit(channels, { key }, ann.cookie)
  expect(next.cookie).toBe(ann.cookie)
  expect(next.id).not.toBe(ann.id)
  expect((await store.sessions.get(ann.id))?.status).toBe('archived')
  bench.advance(30 * 24 * 60 * 60_000)
  await expect(next.say('late')).rejects.toMatchObject({ code: 'not_found' })
})

test('a visitor’s messages beyond the rate limit are rejected', async () => {
  const { channels, key } = await startSite('sqlite', {}, { echo: false })
  const ann = await visit(channels, { key })
  const answers = []
  for (let at = 0; at < 22; at++)
    answers.push(
      await ann.say(`m${at}`).then(
        ({ status }) => status,
        error => error.code,
      ),
    )
  expect(answers).toEqual([...Array<number>(20).fill(202), 'rate_limited', 'rate_limited'])
})

test('a frame without cookies sends its token in a header, and only listed sites can embed the frame', async () => {
  const { channels, store, key } = await startSite()
  const begun = await ask(channels, 'sessions', { body: { key, no_cookies: true } })
  expect(begun.headers.get('set-cookie')).toBeNull()
  const said = await ask(channels, `sessions/${String(begun.json['session_id'])}/messages`, {
    body: { content: 'hello' },
    csrf: String(begun.json['csrf']),
    headers: { authorization: `Visitor ${String(begun.json['token'])}` },
  })
  expect(said.status).toBe(202)
  const frame = await ask(channels, 'frame', { method: 'GET', query: `key=${key}` })
  expect(frame.headers.get('content-security-policy')).toContain(`frame-ancestors ${SITE}`)
  expect(frame.headers.get('content-security-policy')).toContain("script-src 'self'")
  await expect(ask(channels, 'frame', { method: 'GET', query: 'key=cairn_wk_other' })).rejects.toMatchObject({
    code: 'not_found',
  })
  const widget = await ask(channels, 'widget.js', { method: 'GET' })
  expect(widget.text.length).toBeLessThan(20_000)
  const [connection] = await store.channels.listConnections('org_1')
  await store.channels.setConnection(connection!.id, 'disabled', null)
  await expect(visit(channels, { key })).rejects.toMatchObject({ code: 'not_found' })
})
