/**
 * A real server whose clock is set while it works: by minutes, hours and years, forward and back. libfaketime
 * changes only the date that the process sees, like setting a machine's clock.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@cairn/client'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { tally } from '@cairn/protocol/test/attacks'
import { CLOCK_STEPS_MS } from '@cairn/protocol/test/clock-steps'
import { makePlace, startServer } from '../server.ts'
import { endsTurn, isType, newSession, readLog, say, waitFor } from '../session.ts'

const SCENARIO = {
  // Takes some seconds: the clock is set while the answer is streaming.
  pace_ms: 200,
  chunk_chars: 5,
  rules: [
    {
      answer: {
        text: 'I write down what is to be done, and take my time over it.',
        tool_calls: [{ name: 'list_files', arguments: {} }],
      },
      when: { step: 0 },
    },
    { answer: { text: 'Done.' } },
  ],
}
/** Maximum duration of a turn on a slow machine, far below the smallest step. */
const MAX_MS = 500_000

/** The library of Debian's faketime package, or null. Cross compilers add folders of other processors. */
const findFaketime = (): string | null =>
  readdirSync('/usr/lib')
    .filter(name => name.endsWith('-linux-gnu'))
    .map(name => join('/usr/lib', name, 'faketime/libfaketimeMT.so.1'))
    .find(path => existsSync(path)) ?? null

/** Promise 4.4, 7.10: A real server measures durations correctly when its clock is set. */
test('a server whose clock is set by minutes, hours and years rejects no request and measures durations correctly', async () => {
  const faketime = findFaketime()
  if (faketime === null)
    console.warn(
      'faketime is not installed (apt-get install faketime): the clock of the real server was NOT set. ' +
        'Only the unit tests did it.',
    )
  const place = makePlace({
    scenario: SCENARIO,
    config: { limits: { requests_per_minute: 600, lease_s: 10 } },
  })
  const file = join(place.dir, 'time')
  const setClock = (ms: number): void => writeFileSync(file, `${ms < 0 ? '-' : '+'}${Math.abs(ms) / 1000}\n`)
  setClock(0)
  const server = await startServer({
    ...place,
    env: {
      ...place.env,
      ...(faketime && {
        LD_PRELOAD: faketime,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      }),
    },
  })
  const { token } = await server.client.call('createServiceAccount', { body: { name: 'reader' } })
  const client = createClient({ baseUrl: server.url, token, backoff: { baseMs: 50, maxMs: 500 } })

  let asked = 0
  let refused = 0
  async function ask(): Promise<void> {
    for (let n = 0; n < 20; n++) {
      const { status } = await fetch(`${server.url}/v1/api/auth/me`, {
        headers: { authorization: `Bearer ${token}` },
      })
      asked++
      if (status !== 200) refused++
    }
  }

  for (const step of CLOCK_STEPS_MS) {
    const id = await newSession(client)
    const after = await say(client, id, 'plan')
    await waitFor(client, id, after, isType('llm.delta'))
    setClock(step)
    await ask()
    const first = await waitFor(client, id, after, isType('llm.response'))
    expect(first.data.latency_ms).toBeGreaterThan(1_000)
    expect(first.data.latency_ms).toBeLessThan(MAX_MS)
    setClock(0)
    const end = await waitFor(client, id, after, endsTurn)
    expect(end.type).toBe('session.complete')
    const result = await waitFor(client, id, after, isType('tool.result'))
    expect(result.data.elapsed_ms).toBeLessThan(MAX_MS)
    await ask()
    const log = await readLog(server.client, id)
    expect(log.filter(isType('harness.recovered'))).toEqual([])
    expect(checkHistory(log, { settled: true })).toEqual([])
  }
  tally('clock of a server set', asked, refused)
  expect([asked, refused]).toEqual([CLOCK_STEPS_MS.length * 40, 0])
  expect(server.log()).not.toContain('"level":"error"')
  expect(await server.stop()).toBe(0)
})
