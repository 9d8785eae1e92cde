/**
 * Files of a real server, damaged while it was down: the server reports the loss, also to readers, and
 * rejects an unusable file with one sentence (contract 2.2, 3.9).
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiError } from '@cairn/client'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { localToken } from '../../src/local/local-admin.ts'
import { cairn, makePlace, startServer } from '../server.ts'
import { endsTurn, newSession, readLog, runTurn, say, waitFor } from '../session.ts'

const SCENARIO = { rules: [{ answer: { text: 'Noted.' } }] }
const MISSING = 'records that had been acknowledged are missing'

/**
 * Promise 2.2, 3.9: Records lost in damaged files are reported at start, by `cairn doctor` and to readers,
 * and no id is reused.
 */
test('a log truncated while the server was down is reported by doctor, at start and to readers; no id is reused', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const first = await startServer(place)
  const id = await newSession(first.client)
  await runTurn(first.client, id, 'kept')
  expect(await first.stop()).toBe(0)
  const second = await startServer(place)
  for (let n = 0; n < 5; n++) await runTurn(second.client, id, `lost ${n}`)
  const seen = await readLog(second.client, id)
  await second.kill()
  const wal = join(place.dataDir, 'cairn.db-wal')
  truncateSync(wal, Math.floor(statSync(wal).size / 2))

  const before = await cairn(place, ['doctor'])
  expect([before.code, before.stdout.includes(MISSING)]).toEqual([1, true])

  const third = await startServer(place)
  expect(third.log()).toContain(MISSING)
  const cursor = seen.at(-1)?.id ?? 0
  // The interrupted turn is resumed at once, with event ids above all ids that were ever assigned.
  const left = (await readLog(third.client, id)).filter(event => event.id <= cursor)
  expect(left).toEqual(seen.slice(0, left.length))
  expect(left.length).toBeLessThan(seen.length)
  // Both routes tell a reader of a lost event that it is gone, and where to continue.
  const known = left.at(-1)?.id ?? 0
  for (const path of [`events?after=${cursor}`, `events/poll?after=${cursor}`]) {
    const answer = await fetch(`${third.url}/v1/sessions/${id}/${path}`, {
      headers: { authorization: `Bearer ${await localToken(place.dataDir)}` },
    })
    expect([answer.status, await answer.json()]).toMatchObject([
      410,
      { code: 'cursor_lost', last_id: known, detail: expect.stringContaining(`after=${known}`) },
    ])
  }
  const ended = waitFor(third.client, id, cursor, () => true)
  await expect(ended).rejects.toThrow(ApiError)
  await expect(ended).rejects.toMatchObject({ code: 'cursor_lost', retryable: false })

  const next = await say(third.client, id, 'and now?')
  expect(next).toBeGreaterThan(cursor)
  const end = await waitFor(third.client, id, known, event => event.id > next && endsTurn(event))
  expect(end.type).toBe('session.complete')
  const beside = await cairn(place, ['doctor'])
  expect([beside.code, beside.stdout.includes('found at the start of')]).toEqual([0, true])
  expect(await third.stop()).toBe(0)

  const fourth = await startServer(place)
  expect(fourth.log()).not.toContain(MISSING)
  const log = await readLog(fourth.client, id)
  expect(log.map(event => event.id)).toEqual([...new Set(log.map(event => event.id))])
  expect(checkHistory(log.slice(0, known), {})).toEqual([])
  expect(await fourth.stop()).toBe(0)
})

/** Promise 9.3: An unreadable database or an empty key file is rejected with a clear error. */
test('rejects a corrupt database and an empty key with one sentence and leaves both files unchanged', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const first = await startServer(place)
  const id = await newSession(first.client)
  await runTurn(first.client, id, 'hello')
  expect(await first.stop()).toBe(0)

  const key = join(place.dataDir, 'auth-key.json')
  const sound = readFileSync(key)
  writeFileSync(key, '')
  const keyless = await cairn(place, ['serve'])
  expect(keyless.code).toBe(1)
  expect(keyless.stderr).toContain(`cairn: ${key} contains no valid signing key: the file is empty.`)
  expect(keyless.stderr).not.toMatch(/^ +at /m)
  const doctor = await cairn(place, ['doctor'])
  expect([doctor.code, doctor.stdout.includes(`${key} contains no valid signing key`)]).toEqual([1, true])
  writeFileSync(key, sound)

  const db = join(place.dataDir, 'cairn.db')
  const bytes = readFileSync(db)
  for (const damage of [
    () => randomBytes(bytes.length),
    () => Buffer.concat([bytes.subarray(0, 4096), randomBytes(2048), bytes.subarray(6144)]),
  ]) {
    const garbage = damage()
    writeFileSync(db, garbage)
    const refused = await cairn(place, ['serve'])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(`cairn: The database ${db} is damaged: `)
    expect(refused.stderr).toContain('Restore it from a backup')
    expect(refused.stderr).not.toMatch(/^ +at /m)
    expect(readFileSync(db).equals(garbage)).toBe(true)
    const judged = await cairn(place, ['doctor'])
    expect([judged.code, judged.stdout.includes('is damaged')]).toEqual([1, true])
  }
  writeFileSync(db, bytes)
  const again = await startServer(place)
  expect((await readLog(again.client, id)).length).toBeGreaterThan(0)
  expect(await again.stop()).toBe(0)
})
