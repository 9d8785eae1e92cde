/**
 * Contract 3.6: records of many megabytes, which old logs may contain, reach every reader, however slow; a
 * reader that stalls within one is disconnected like any other.
 */
import { syntheticMessage } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { type Service, startService } from './service.ts'
import { openStream } from './stream.ts'

const MB = 1_000_000

async function withRecord(service: Service, bytes: number): Promise<string> {
  const id = await service.newSession()
  await service.say(id, 'before')
  await service.store.commit({ session_id: id, events: [syntheticMessage('test', 'x'.repeat(bytes))] })
  await service.say(id, 'after')
  return id
}
const openStreams = async (service: Service): Promise<string> =>
  /^cairn_open_streams (\d+)$/m.exec((await service.call('/metrics')).text)?.[1] ?? ''

test('a record of 40 MB reaches every reader complete, and so do later events', async () => {
  await using service = await startService()
  const id = await withRecord(service, 40 * MB)
  const [stored] = await service.store.events.read(id, 1, 1)
  const readers = await Promise.all([1, 2, 3].map(() => openStream(service, `/v1/sessions/${id}/events`)))
  for (const reader of readers) {
    await reader.until(({ lastId }) => lastId() === 3)
    expect(reader.ids()).toEqual([1, 2, 3])
    expect(reader.frames()[1]?.data).toBe(stored?.json)
    reader.close()
  }
})

/** Promise 3.6: A reader that stalls within a large record is disconnected and resumes with its cursor. */
test('a reader that stalls within a large record is disconnected and gets it again with its cursor', async () => {
  await using service = await startService({ tuning: { tickMs: 50 } })
  const id = await withRecord(service, 40 * MB)
  const stalled = await openStream(service, `/v1/sessions/${id}/events`)
  await stalled.until(({ lastId }) => lastId() === 1)
  stalled.pause()
  await expect.poll(() => openStreams(service)).toBe('0')
  stalled.resume()
  expect((await stalled.ended).clean).toBe(false)
  const again = await openStream(service, `/v1/sessions/${id}/events?after=1`)
  await again.until(({ lastId }) => lastId() === 3)
  expect(again.ids()).toEqual([2, 3])
  again.close()
})

test('a drain within a large record sends the rest of it before the comment', async () => {
  await using service = await startService()
  const id = await withRecord(service, 20 * MB)
  const reader = await openStream(service, `/v1/sessions/${id}/events`)
  await reader.until(({ lastId }) => lastId() === 1)
  const drained = service.api.drain()
  const { clean } = await reader.ended
  await drained
  expect(clean).toBe(true)
  expect(reader.ids().slice(0, 2)).toEqual([1, 2])
  expect(reader.text().endsWith(': draining\n')).toBe(true)
})
