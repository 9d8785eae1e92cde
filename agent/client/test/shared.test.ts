import { expect, test } from 'vitest'
import { createClient, type SharedItem } from '../src/index.ts'
import { frameOf, makeLog, openStream, serve } from './hostile-server.ts'

/** Promise 4.22: The client of the shared stream reconnects with the cursor of each session. */
test('after cuts, the shared stream resumes at the cursor of each session, without rejected sessions', async () => {
  const logs = new Map(['a', 'b'].map(id => [id, makeLog(id, 4, () => 0.5)]))
  const problem = { type: 'x', title: 'Gone', status: 404, code: 'not_found', detail: 'No.', request_id: 'r' }
  await using server = await serve(({ url }, response) => {
    openStream(response)
    response.write('event: opened\ndata: {"principal_id":"u"}\n\n')
    const asked = (url.searchParams.get('sessions') ?? '').split(',').map(entry => entry.split(':'))
    if (asked.some(([id]) => id === 'missing'))
      response.write(`event: refused\ndata: ${JSON.stringify({ session_id: 'missing', problem })}\n\n`)
    // One event of each session, with the previous one repeated, and a cut in the middle of another.
    for (const [id = '', after = '0'] of asked) {
      const log = logs.get(id) ?? []
      const next = log.findIndex(record => record.id > Number(after))
      for (const record of log.slice(Math.max(0, next - 1), next < 0 ? 0 : next + 1))
        response.write(frameOf(record))
    }
    response.end('id: 9\nevent: user.message\ndata: {"id":9')
  })
  const client = createClient({ baseUrl: server.baseUrl, backoff: { baseMs: 1, maxMs: 2 } })
  const seen: SharedItem[] = []
  const ids = (session: string) =>
    seen.flatMap(item => (item.type === 'event' && item.event.session_id === session ? [item.event.id] : []))
  const sessions = new Map([
    ['a', 0],
    ['b', 2],
    ['missing', 0],
  ])
  for await (const items of client.sharedStream({ sessions, changes: true })) {
    seen.push(...items)
    if (ids('a').length + ids('b').length === 6) break
  }
  expect([ids('a'), ids('b')]).toEqual([
    [1, 2, 3, 4],
    [3, 4],
  ])
  expect(seen.filter(({ type }) => type === 'refused')).toMatchObject([
    { session_id: 'missing', error: { code: 'not_found' } },
  ])
  expect(seen[0]).toEqual({ type: 'opened', principal_id: 'u' })
  expect(server.requests.slice(0, 3).map(({ url }) => url.search)).toEqual([
    '?sessions=a%3A0%2Cb%3A2%2Cmissing%3A0&changes=true',
    '?sessions=a%3A1%2Cb%3A3&changes=true',
    '?sessions=a%3A2%2Cb%3A4&changes=true',
  ])
})
