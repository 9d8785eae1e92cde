/** Files that visitors send, and answers that scripts of other origins may read. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Channels } from '@cairn/channels'
import { workspaceOf } from '@cairn/sessions'
import { sessionFolder } from '@cairn/workspace'
import { expect, test } from 'vitest'
import { type Bench, logOf, makeBench } from '../bench.ts'
import { ask, SITE, type Visit, visit } from './visit.ts'

const OTHER = 'https://other.example'

async function startSite(settings = {}) {
  const site = {
    platform: 'website' as const,
    origins: [SITE],
    access: 'open' as const,
    agent: 'greeter',
    ...settings,
  }
  const config = { disclosure: { level: 'basic', operator: 'Example Ltd' } } as const
  const bench = await makeBench('sqlite', {}, config, { only: { site } })
  const channels = await bench.start()
  const [connection] = await bench.store.channels.listConnections('org_1')
  return { bench, channels, key: `cairn_wk_${connection!.id}` }
}

async function upload(channels: Channels, by: Visit, name: string, bytes: Buffer, more = {}) {
  const response = await channels.handle({
    method: 'POST',
    path: `/v1/website/sessions/${by.id}/uploads`,
    query: new URLSearchParams({ name }),
    headers: new Headers({
      host: 'cairn.example',
      origin: SITE,
      cookie: by.cookie ?? '',
      'x-cairn-csrf': by.csrf,
      'content-type': 'application/octet-stream',
      ...more,
    }),
    raw: bytes,
    signal: new AbortController().signal,
    address: '192.0.2.1',
  })
  return { status: response.status, json: (await response.json()) as { upload_id: string; filename: string } }
}
const said = async ({ store }: Bench, id: string): Promise<unknown[]> =>
  (await logOf(store, id)).flatMap(({ type, data }) => (type === 'user.message' ? [data] : []))
const send = (by: Visit, content: string, uploads: string[]) =>
  by.post('messages', { body: { content, uploads } })

test('an uploaded file is stored in the inbox folder of the workspace and attached to its message', async () => {
  const { bench, channels, key } = await startSite()
  const ann = await visit(channels, { key })
  const { status, json } = await upload(channels, ann, '../../etc/pass\u202ewd.txt', Buffer.from('hello'))
  expect([status, json.filename]).toEqual([201, 'passwd.txt'])
  expect((await send(ann, 'read this', [json.upload_id])).status).toBe(202)
  const path = `inbox/${json.upload_id}`
  expect(await said(bench, ann.id)).toMatchObject([
    { content: 'read this', attachments: [{ path, filename: 'passwd.txt', size: 5 }] },
  ])
  const session = (await bench.store.sessions.get(ann.id))!
  const folder = sessionFolder(bench.workspacesDir, workspaceOf(session))
  expect(readFileSync(join(folder, path), 'utf8')).toBe('hello')
  const records = await ann.stream(seen => seen.some(({ type }) => type === 'user.message'))
  expect(records.find(({ type }) => type === 'user.message')?.data).toEqual({
    content: 'read this',
    attachments: [{ filename: 'passwd.txt' }],
  })
  // A file alone is a message; an empty message without files is rejected.
  expect((await send(ann, '', [json.upload_id])).status).toBe(202)
  await expect(send(ann, ' ', [])).rejects.toMatchObject({ code: 'invalid_body' })
})

/** Promise 15.7: A visitor can name only files of their own conversation. */
test('a visitor cannot name a file of another conversation or any other file of a workspace', async () => {
  const { channels, bench, key } = await startSite()
  const ann = await visit(channels, { key })
  const bob = await visit(channels, { key })
  const { json } = await upload(channels, ann, 'a.txt', Buffer.from('x'))
  for (const named of [json.upload_id, '../secrets', 'a.txt', '0123456789ab-../../x', '0123456789ab-a.txt'])
    await expect(send(bob, 'read', [named])).rejects.toMatchObject({ code: 'not_found' })
  const { id } = ann
  for (const more of [{ cookie: bob.cookie ?? '' }, { 'x-cairn-csrf': bob.csrf }, { origin: OTHER }])
    await expect(upload(channels, ann, 'b.txt', Buffer.from('x'), more)).rejects.toMatchObject({
      code: expect.stringMatching(/^(not_found|csrf|origin_not_allowed)$/) as string,
    })
  expect(await said(bench, id)).toEqual([])
})

test('empty files, files before the disclosure and files after the end are rejected', async () => {
  const { channels, key } = await startSite({ require_confirm: true })
  const ann = await visit(channels, { key })
  const put = (bytes: Buffer) => upload(channels, ann, 'a.txt', bytes)
  await expect(put(Buffer.from('x'))).rejects.toMatchObject({ code: 'disclosure_required' })
  await ann.post('confirm-disclosure')
  await expect(put(Buffer.alloc(0))).rejects.toMatchObject({ code: 'invalid_body' })
  expect((await put(Buffer.from('x'))).status).toBe(201)
  await ann.post('end')
  await expect(put(Buffer.from('x'))).rejects.toMatchObject({ code: 'wrong_state' })
})

test('files count against the visitor’s rate limit, and a conversation accepts at most 50', async () => {
  const { channels, bench, key } = await startSite()
  const ann = await visit(channels, { key })
  const put = () => upload(channels, ann, 'a.txt', Buffer.from('x'))
  for (let at = 0; at < 20; at++) expect((await put()).status).toBe(201)
  await expect(put()).rejects.toMatchObject({ code: 'rate_limited' })
  for (let at = 20; at < 50; at++) {
    bench.advance(61_000)
    expect((await put()).status).toBe(201)
  }
  bench.advance(61_000)
  await expect(put()).rejects.toMatchObject({ code: 'limit_reached' })
})

/** Promise 15.7: Only scripts of the connection's listed origins can read responses. */
test('only scripts of the connection’s listed origins may read responses', async () => {
  const { channels, key } = await startSite()
  const told = (origin: string, path = '/v1/website/sessions') =>
    channels.headersFor(path, new Headers({ origin }))['access-control-allow-origin']
  expect([told(SITE), told(OTHER), told('null'), told(SITE, '/v1/channels/x/webhook')]).toEqual([
    SITE,
    undefined,
    undefined,
    undefined,
  ])
  const asked = await ask(channels, 'sessions', { method: 'OPTIONS', origin: SITE })
  expect([asked.status, asked.headers.get('access-control-allow-headers')]).toEqual([
    204,
    expect.stringContaining('x-cairn-csrf'),
  ])
  // Cookies are never sent to another origin.
  expect(asked.headers.has('access-control-allow-credentials')).toBe(false)
  const begun = await ask(channels, 'sessions', { body: { key, no_cookies: true }, origin: SITE })
  expect(begun.json['token']).toEqual(expect.any(String))
})

test('a row left by an aborted request is processed only by its repetition', async () => {
  const { bench, channels, key } = await startSite()
  const { store } = bench
  const [connection] = await store.channels.listConnections('org_1')
  const row = { event_key: 'left', conversation_key: 'c', sender: 's', body: '{"session_id":"x"}' }
  const seq = await store.channels.receive({ connection_id: connection!.id, ...row })
  // A starting process claims pending rows at once.
  await channels.stop()
  const second = await bench.start()
  const ann = await visit(second, { key })
  for (const text of ['one', 'two', 'three']) {
    await ann.say(text)
    await ann.stream(seen => JSON.stringify(seen).includes(`echo: ${text}`))
  }
  expect(await store.channels.getInbound(connection!.id, seq!)).toMatchObject({
    state: 'received',
    attempts: 0,
  })
})
