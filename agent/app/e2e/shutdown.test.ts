/** How the server shuts down: in order, in time, and at once after a second signal (contract 12). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@cairn/log/test/free-port'
import { expect, test } from 'vitest'
import { makePlace, startServer } from './server.ts'
import { endsTurn, isType, newSession, readLog, say, waitFor } from './session.ts'

const SLOW = {
  pace_ms: 40,
  chunk_chars: 4,
  rules: [
    // Takes seconds: the signal must arrive while the answer is streaming.
    {
      when: { user: '^work$', step: 0 },
      answer: {
        pace_ms: 400,
        text: 'I take my time with the first step.',
        tool_calls: [{ name: 'list_files', arguments: {} }],
      },
    },
    { when: { user: '^hang$' }, answer: { text: 'I begin', hang: true } },
    { answer: { text: 'Done.' } },
  ],
}

test('a drain finishes the running iteration and releases the lease; the next start needs no recovery', async () => {
  const place = makePlace({ scenario: SLOW })
  const server = await startServer(place)
  const id = await newSession(server.client)
  const after = await say(server.client, id, 'work')
  await waitFor(server.client, id, after, isType('llm.delta'))
  expect(await server.stop()).toBe(0)
  const next = await startServer(place)
  const drained = await readLog(next.client, id)
  expect(
    drained.filter(isType('llm.response')).length,
    'the answer that was coming is in the log',
  ).toBeGreaterThan(0)
  await waitFor(next.client, id, after, endsTurn)
  const log = await readLog(next.client, id)
  expect(log.filter(({ type }) => type === 'harness.recovered')).toEqual([])
  expect(log.filter(({ type }) => type === 'harness.wake')).toHaveLength(2)
  expect(log.filter(isType('tool.result'))).toHaveLength(1)
})

test('an iteration longer than drain_s is aborted, and the server still shuts down cleanly', async () => {
  const place = makePlace({ scenario: SLOW, config: { limits: { drain_s: 0.2 } } })
  const server = await startServer(place)
  const id = await newSession(server.client)
  await waitFor(server.client, id, await say(server.client, id, 'hang'), isType('llm.delta'))
  expect(await server.stop()).toBe(0)
  expect(server.log()).toContain('"message":"stopped"')
  expect(server.log()).not.toContain('"level":"error"')
})

/** Promise 4.11: A draining server is not ready from the start of the drain. */
test('a draining server reports not ready at once and still serves requests', async () => {
  const place = makePlace({ scenario: SLOW })
  const server = await startServer(place)
  const probe = async (path: string): Promise<number> => (await fetch(`${server.url}${path}`)).status
  const id = await newSession(server.client)
  await waitFor(server.client, id, await say(server.client, id, 'hang'), isType('llm.delta'))
  expect(await probe('/readyz')).toBe(200)
  const stopped = server.stop()
  await expect.poll(() => probe('/readyz')).toBe(503)
  expect(await probe('/healthz')).toBe(200)
  expect((await readLog(server.client, id)).some(isType('llm.delta'))).toBe(true)
  await server.kill()
  await stopped
})

test('a second signal ends the server at once with code 130, without losing an acknowledged message', async () => {
  const place = makePlace({ scenario: SLOW })
  const server = await startServer(place)
  const id = await newSession(server.client)
  const after = await say(server.client, id, 'hang')
  await waitFor(server.client, id, after, isType('llm.delta'))
  const first = server.stop()
  await expect.poll(() => server.log()).toContain('"message":"draining"')
  const second = server.stop()
  expect([await first, await second]).toEqual([130, 130])
  const next = await startServer(place)
  expect((await readLog(next.client, id)).find(({ id }) => id === after)?.type).toBe('user.message')
})

test('the port and the data directory are free right after the server ends', async () => {
  const place = makePlace({ scenario: SLOW })
  place.env['PORT'] = String(await freePort())
  const first = await startServer(place)
  await first.kill()
  const second = await startServer(place)
  expect(second.url).toBe(first.url)
  expect(await second.stop()).toBe(0)
  expect(await (await startServer(place)).stop()).toBe(0)
})

test('systemd is notified once when the server listens and once when it drains', async () => {
  const place = makePlace({ scenario: SLOW })
  const file = join(place.dir, 'notified')
  // Stands in for the program that sends its arguments to systemd.
  writeFileSync(join(place.dir, 'systemd-notify'), `#!/bin/sh\necho "$1" >>'${file}'\n`, { mode: 0o755 })
  place.env['PATH'] = `${place.dir}:${process.env['PATH']}`
  place.env['NOTIFY_SOCKET'] = '/run/systemd/notify'
  const server = await startServer(place)
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toBe('READY=1\n')
  expect(await server.stop()).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe('READY=1\nSTOPPING=1\n')
  expect(server.log()).not.toContain('systemd was not notified')
})
