/**
 * Several processes on one Postgres: any of them accepts a message, streams a session, runs a turn, and
 * continues the work of a killed one.
 */
import { createClient } from '@cairn/client'
import { makePostgresPlace, makePrivatePostgres } from '@cairn/log/test/postgres-place'
import type { SessionEvent } from '@cairn/protocol'
import { checkHistory } from '@cairn/verify'
import { expect, onTestFinished, test } from 'vitest'
import { cairn, makePlace, type ServerDirs, startServer } from './server.ts'
import { endsTurn, isType, newSession, PATIENCE_MS, readLog, runTurn, say, waitFor } from './session.ts'

const SCENARIO = {
  pace_ms: 40,
  chunk_chars: 12,
  rules: [
    {
      when: { user: '^job$' },
      steps: [
        // Takes seconds: the tests must act on a runner while the answer is streaming.
        {
          pace_ms: 500,
          text: 'I begin with the first step, and take my time to tell what I do.',
          tool_calls: [{ name: 'terminal', arguments: { command: 'echo one >> done.txt' } }],
        },
        {
          text: 'On with the second step, which is told at the same length as the first.',
          tool_calls: [{ name: 'terminal', arguments: { command: 'echo two >> done.txt' } }],
        },
        { text: 'Both steps are done.' },
      ],
    },
    { answer: { text: 'Nothing to do.' } },
  ],
}

/** Environments of processes that share a database and a directory of files. */
async function shared(): Promise<ServerDirs> {
  const database = await makePostgresPlace()
  onTestFinished(database.remove)
  const place = makePlace({ scenario: SCENARIO, config: { limits: { lease_s: 3 } } })
  return { ...place, env: { ...place.env, DATABASE_URL: database.place } }
}

const held = (log: readonly SessionEvent[]): string =>
  log.findLast(isType('harness.wake'))?.data.worker_id ?? ''

test('a server on Postgres runs a turn and leaves valid logs and a valid store', async () => {
  const place = await shared()
  const server = await startServer(place)
  const id = await newSession(server.client)
  const turn = await runTurn(server.client, id, 'hello')
  expect(turn.at(-1)?.type).toBe('session.complete')
  const doctor = await cairn(place, ['doctor', '--logs', '--json'])
  const findings = JSON.parse(doctor.stdout) as { check: string; verdict: string; detail: string }[]
  expect(findings.filter(({ check }) => check === 'store' || check === 'logs')).toMatchObject([
    { verdict: 'ok' },
    {
      verdict: 'ok',
      detail: '1 sessions, 6 events, all valid'.replace(
        '6',
        String((await readLog(server.client, id)).length),
      ),
    },
  ])
  const password = new URL(place.env['DATABASE_URL'] ?? '').password
  expect(password).not.toBe('')
  expect(server.log() + doctor.stdout).not.toContain(password)
  const backup = await cairn(place, ['backup', `${place.dir}/copy`])
  expect([backup.code, backup.stderr]).toEqual([2, expect.stringContaining('pg_dump')])
  expect(await server.stop()).toBe(0)
})

/** Promise 9: Any replica serves any session, and any runner replaces a killed one. */
test(
  'any replica streams a message posted at another, any runner runs its turn, and a killed runner is replaced',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const place = await shared()
    const [a, b] = [await startServer(place, ['--role', 'api']), await startServer(place, ['--role', 'api'])]
    const workers = [
      await startServer(place, ['--role', 'worker']),
      await startServer(place, ['--role', 'worker']),
    ]
    expect((await fetch(`${workers[0]!.url}/readyz`)).status).toBe(200)
    expect((await fetch(`${workers[0]!.url}/v1/about`)).status).toBe(404)

    const id = await newSession(a.client)
    const seen: SessionEvent[] = []
    const after = await say(a.client, id, 'job')
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    const following = (async () => {
      for await (const batch of b.client.events(id, { signal: stop.signal })) {
        seen.push(...batch)
        if (batch.some(endsTurn)) return
      }
    })()
    // The runner that has claimed the session dies in the middle of its first answer.
    await waitFor(b.client, id, after, isType('llm.delta'))
    const former = held(await readLog(b.client, id))
    const holder = workers.find(({ pid }) => former.includes(`-${pid}-`))
    if (holder === undefined) throw new Error(`none of the workers is ${former}`)
    await holder.kill()
    const end = await waitFor(b.client, id, after, endsTurn)
    await following
    const log = await readLog(a.client, id)
    expect(end.type).toBe('session.complete')
    expect(seen.filter(({ type }) => type !== 'llm.delta')).toEqual(
      log.filter(event => event.type !== 'llm.delta' && event.id <= end.id),
    )
    // Once for the kill. A runner that a slow machine delays for longer than its lease may be replaced as
    // well.
    expect(log.filter(isType('harness.recovered')).length).toBeGreaterThan(0)
    expect(held(log)).not.toBe(former)
    expect(checkHistory(log, { settled: true })).toEqual([])
  },
)

/** Promise 5, 9: A login at one replica is valid at all others. */
test('a login at one replica is valid at the others; a replica with its own directory logs a warning', async () => {
  const place = await shared()
  const other = {
    ...place,
    dataDir: `${place.dir}/elsewhere`,
    env: { ...place.env, CAIRN_DATA: `${place.dir}/elsewhere` },
  }
  const [a, b] = [await startServer(place), await startServer(other)]
  const id = await newSession(a.client)
  // Uses the token that the first replica signed.
  const { access_token } = JSON.parse((await cairn(place, ['token', 'user', '--json'])).stdout) as {
    access_token: string
  }
  const visitor = createClient({ baseUrl: b.url, token: access_token })
  expect((await visitor.call('getSession', { params: { id } })).id).toBe(id)
  const { token } = JSON.parse(
    (await cairn(place, ['token', 'service-account', 'ci', '--scope', 'org', '--json'])).stdout,
  ) as { token: string }
  expect(
    (await fetch(`${b.url}/v1/api/sessions/${id}`, { headers: { authorization: `Bearer ${token}` } })).status,
  ).toBe(200)
  expect(a.log()).not.toContain('keep their files elsewhere')
  for (const variable of ['CAIRN_DATA', 'CAIRN_WORKSPACES'])
    expect(b.log()).toMatch(new RegExp(`keep their files elsewhere: .* Set ${variable} to one shared`))
})

/** Promise 9: The service survives a crash of its database server and reports not ready meanwhile. */
test(
  'a server whose database crashes stays up, reports not ready, and resumes when it is back',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const database = await makePrivatePostgres()
    onTestFinished(database.remove)
    const place = makePlace({ scenario: SCENARIO, config: { limits: { lease_s: 3 } } })
    const server = await startServer({ ...place, env: { ...place.env, DATABASE_URL: database.place } })
    const { client, url } = server
    const id = await newSession(client)
    const after = await say(client, id, 'job')
    await waitFor(client, id, after, isType('llm.delta'))
    await database.server.crash()
    expect((await fetch(`${url}/readyz`)).status).toBe(503)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    await database.server.start()
    // The running turn ends, under this runner's lease or the next one's.
    await waitFor(client, id, after, endsTurn)
    await runTurn(client, id, 'hello again')
    const log = await readLog(client, id)
    expect(checkHistory(log, { settled: true })).toEqual([])
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    expect(server.exited()).toBe(false)
  },
)

test('rejects --role without DATABASE_URL', async () => {
  const { code, stderr } = await cairn(makePlace({ scenario: SCENARIO }), ['serve', '--role', 'worker'])
  expect([code, stderr]).toEqual([2, expect.stringContaining('--role worker needs DATABASE_URL')])
})
