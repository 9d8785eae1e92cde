/**
 * With a full disk, the server reports it, keeps serving reads, and continues its work when there is space
 * again.
 */
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { ApiError, createClient } from '@cairn/client'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { makePlace, startServer } from './server.ts'
import { endsTurn, newSession, readLog, waitFor } from './session.ts'

const SCENARIO = {
  rules: [{ when: { user: '^big' }, answer: { text: 'Noted.' } }, { answer: { text: 'All is well again.' } }],
}

/** A file size limit simulates a full disk and can be lifted: the write-ahead log cannot grow beyond it. */
const limitFiles = (pid: number, bytes: number | 'unlimited'): void =>
  void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`])

/**
 * Promise 4: With a full disk, writes are refused and reads continue, and writes resume without a restart.
 */
test('with a full disk, writes get 503 and reads succeed; with space again, work continues and nothing is lost', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const server = await startServer(place)
  const id = await newSession(server.client)
  await server.client.call('sendMessage', { params: { id }, body: { content: 'big before' } })
  await waitFor(server.client, id, 0, endsTurn)
  limitFiles(server.pid, statSync(join(place.dataDir, 'cairn.db-wal')).size + 200_000)

  const ready = async (): Promise<number> => (await fetch(`${server.url}/readyz`)).status
  expect(await ready()).toBe(200)
  const acknowledged: number[] = []
  const refusals: ApiError[] = []
  for (let n = 0; n < 60 && refusals.length < 3; n++) {
    try {
      acknowledged.push(
        (
          await server.client.call('sendMessage', {
            params: { id },
            body: { content: `big ${n} ${'x'.repeat(30_000)}` },
          })
        ).event_id,
      )
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      refusals.push(error)
    }
  }
  expect(refusals.map(({ status, code, retryable }) => [status, code, retryable])).toEqual([
    [503, 'storage', true],
    [503, 'storage', true],
    [503, 'storage', true],
  ])
  expect(refusals[0]?.message).toContain('not stored')
  expect(acknowledged.length).toBeGreaterThan(1)
  // The server is up and serves reads. /readyz tells a proxy to send no traffic here.
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  await expect.poll(ready).toBe(503)
  const during = await readLog(server.client, id)
  expect(
    acknowledged.every(event => during.some(found => found.id === event && found.type === 'user.message')),
  ).toBe(true)

  limitFiles(server.pid, 'unlimited')
  await expect.poll(ready).toBe(200)
  // Uses a separate client: a rejected request is safe to send again.
  const client = createClient({ baseUrl: server.url, token: () => localToken(place.dataDir) })
  const { event_id } = await client.call('sendMessage', { params: { id }, body: { content: 'and now?' } })
  await waitFor(client, id, event_id, endsTurn)
  const log = await readLog(client, id)
  expect(log.map(event => event.id)).toEqual(log.map((_, at) => at + 1))
  expect(log.slice(0, during.length)).toEqual(during)
  expect(log.findLast(event => event.type === 'llm.response')?.data.message.content).toBe(
    'All is well again.',
  )
  expect(checkHistory(log, { settled: true })).toEqual([])
  expect(server.exited()).toBe(false)
  expect(await server.stop()).toBe(0)
})
