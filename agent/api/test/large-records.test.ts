/**
 * Contract 3.6: records of many megabytes, which old logs may contain, reach every reader, however slow; a
 * reader that stalls within one is disconnected like any other.
 */
import { request } from 'node:http'
import { once } from 'node:events'
import { syntheticMessage } from '@cairn/sessions'
import { expect, onTestFinished, test } from 'vitest'
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

/** Promise 3.6: A slow reader of a large record stays connected while it makes progress. */
test('a slow reader of a large record stays connected while it makes progress', async () => {
  // The kernel reports room in steps that take this reader longer than it may stall.
  const stallMs = 1_000
  await using service = await startService({ tuning: { stallMs, tickMs: 100 } })
  const id = await withRecord(service, 12 * MB)
  const sent = request(`${service.url}/v1/sessions/${id}/events`, {
    agent: false,
    headers: { authorization: `Bearer ${service.adminToken}` },
  })
  onTestFinished(() => void sent.destroy())
  sent.end()
  const [response] = await once(sent, 'response')
  let taken = 0
  let tail = ''
  response.on('error', () => {})
  // 64 KB at a time, 1.2 MB a second.
  for (let next = performance.now(); !response.destroyed && !tail.includes('"after"');) {
    await once(response, 'readable')
    for (
      let piece = response.read() as Buffer | null;
      piece !== null;
      piece = response.read() as Buffer | null
    ) {
      taken += piece.length
      tail = (tail + piece.toString('latin1')).slice(-2_000)
      next += (piece.length / 1_200_000) * 1_000
      const wait = next - performance.now()
      if (wait > 0) await new Promise(resolve => setTimeout(resolve, wait))
    }
  }
  expect([response.destroyed, tail.includes('"after"')]).toEqual([false, true])
  expect(taken).toBeGreaterThan(12 * MB)
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
