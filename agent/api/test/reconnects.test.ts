/** Contract 11: `after` skips and repeats no event, wherever a connection is cut. */
import { syntheticMessage } from '@cairn/sessions'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startService } from './service.ts'
import { openStream } from './stream.ts'

/** The beginning of a stream. */
const OPENING = 'retry: 2000\n: connected\n'

/** Promise 3.4: A reader that resumes with `after` misses no event and receives none twice. */
test('a thousand connections cut anywhere together return exactly the log that poll returns', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const total = 3000
  const [sizes, cuts] = [
    fc.sample(fc.integer({ min: 1, max: 9 }), { numRuns: total, seed: 7 }),
    fc.sample(fc.integer({ min: 1, max: 1400 }), { numRuns: 1000, seed: 8 }),
  ]
  let appended = 0
  const append = async (): Promise<void> => {
    for (let at = 0; appended < total; at++) {
      const size = Math.min(sizes[at] ?? 1, total - appended)
      await service.store.commit({
        session_id: id,
        events: Array.from({ length: size }, (_, n) =>
          syntheticMessage('test', `${appended + n} ${'é'.repeat((appended * 7) % 40)}`),
        ),
      })
      appended += size
    }
  }
  const appending = append()
  const records: string[] = []
  let cursor = 0
  for (const [index, cut] of cuts.entries()) {
    const stream = await openStream(service, `/v1/sessions/${id}/events`, {
      headers: { 'last-event-id': String(cursor) },
    })
    // The last connection runs to the end; one that has caught up is cut at its opening or at the newest
    // event, because no more bytes may arrive to reach the cut.
    const isLast = index === cuts.length - 1
    await stream.until(({ text }) =>
      isLast
        ? cursor === total || text().includes(`id: ${total}\n`)
        : text().length >= Math.min(cut, OPENING.length) &&
          (text().length >= cut || cursor >= appended - 5 || text().includes(`id: ${appended}\n`)),
    )
    const frames = stream.frames()
    stream.close()
    // The cut is mostly inside a frame, and only complete frames count.
    const kept = isLast ? frames : frames.slice(0, Math.max(0, frames.length - (cut % 2)))
    for (const { data, id: frameId } of kept) {
      records.push(data)
      cursor = Number(frameId)
    }
  }
  await appending
  const polled: unknown[] = []
  for (let after = 0, more = true; more;) {
    const { json } = await service.call(`/v1/sessions/${id}/events/poll?limit=1000&after=${after}`)
    polled.push(...json.events)
    ;({ last_id: after, has_more: more } = json)
  }
  expect(polled).toHaveLength(total)
  expect(records.map(record => JSON.parse(record))).toEqual(polled)
})

test('readers that connect and disconnect during commits each get every event once and in order', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const total = 1500
  const appending = (async () => {
    for (let n = 0; n < total; n += 3)
      await service.store.commit({
        session_id: id,
        events: [1, 2, 3].map(k => syntheticMessage('test', `${n + k}`)),
      })
  })()
  const starts = fc.sample(fc.integer({ min: 0, max: total - 1 }), { numRuns: 60, seed: 3 })
  await Promise.all(
    starts.map(async after => {
      const stream = await openStream(service, `/v1/sessions/${id}/events?after=${after}`)
      await stream.until(({ lastId }) => lastId() === total)
      expect(stream.ids()).toEqual(Array.from({ length: total - after }, (_, at) => after + at + 1))
      stream.close()
    }),
  )
  await appending
})
