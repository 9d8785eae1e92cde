/**
 * Contract 3: a stalled reader costs only a cursor, and is disconnected when more than a mebibyte is unsent.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { syntheticMessage } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { startService } from './service.ts'
import { openStream } from './stream.ts'

const TEXT = 'x'.repeat(20_000)

/** Promise 3.6: A reader that stalls with 1 MiB unsent is disconnected and delays no other reader. */
test('a reader that stalls with more than 1 MiB unsent is disconnected; the others get everything', async () => {
  await using service = await startService({ tuning: { stallMs: 2000, tickMs: 50 } })
  const id = await service.newSession()
  const path = `/v1/sessions/${id}/events`
  const stalled = await openStream(service, path)
  const others = await Promise.all([openStream(service, path), openStream(service, path)])
  for (const stream of [stalled, ...others]) await stream.until(({ text }) => text().includes(': connected'))
  stalled.pause()
  const count = 800
  const appending = (async () => {
    for (let n = 0; n < count; n += 8)
      await service.store.commit({
        session_id: id,
        events: Array.from({ length: 8 }, () => syntheticMessage('test', TEXT)),
      })
  })()
  for (const stream of others) await stream.until(({ lastId }) => lastId() === count)
  await appending
  expect(others.map(stream => stream.ids())).toEqual(
    others.map(() => Array.from({ length: count }, (_, at) => at + 1)),
  )
  await expect.poll(async () => (await service.call('/metrics')).text).toContain('cairn_open_streams 2\n')
  stalled.resume()
  expect((await stalled.ended).clean).toBe(false)
  const seen = stalled.ids()
  // The client received a prefix without gaps, and its cursor returns the rest.
  expect(seen).toEqual(seen.map((_, at) => at + 1))
  expect(seen.length).toBeLessThan(count)
  const again = await openStream(service, `${path}?after=${seen.length}`)
  await again.until(({ lastId }) => lastId() === count)
  expect(again.ids()).toEqual(Array.from({ length: count - seen.length }, (_, at) => seen.length + at + 1))
  for (const stream of [again, ...others]) stream.close()
})

test('a slow reader of a long history stays connected while it makes progress', async () => {
  await using service = await startService({ tuning: { stallMs: 2000, tickMs: 50 } })
  const id = await service.newSession()
  for (let n = 0; n < 40; n++)
    await service.store.commit({
      session_id: id,
      events: Array.from({ length: 10 }, () => syntheticMessage('test', TEXT)),
    })
  const stream = await openStream(service, `/v1/sessions/${id}/events`)
  for (let stop = 1; stop <= 8; stop++) {
    await stream.until(({ lastId }) => lastId() >= stop * 25)
    stream.pause()
    await service.say(id, 'meanwhile')
    // Eight pauses exceed the stall limit of the server, and each is much shorter.
    await sleep(400)
    stream.resume()
  }
  await stream.until(({ lastId }) => lastId() === 408)
  expect(stream.ids()).toEqual(Array.from({ length: 408 }, (_, at) => at + 1))
  stream.close()
})
