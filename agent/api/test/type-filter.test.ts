/** Contract 3.3: there is no server-side type filter; `type` is ignored, not rejected. */
import { expect, test } from 'vitest'
import { startService } from './service.ts'
import { openStream } from './stream.ts'

/** Promise 3.3: A `type` parameter changes no byte of a poll response. */
test('a type parameter changes no byte of the poll response', async () => {
  await using service = await startService()
  const id = await service.newSession()
  for (const text of ['one', 'two', 'three']) await service.say(id, text)
  const plain = await service.call(`/v1/sessions/${id}/events/poll?after=1`)
  const typed = await service.call(`/v1/sessions/${id}/events/poll?after=1&type=tool.call`)
  const many = await service.call(
    `/v1/sessions/${id}/events/poll?type=&type[]=x&after=1&types=llm.delta&%ff=%`,
  )
  expect(plain.json.events).toHaveLength(2)
  expect(typed.text).toBe(plain.text)
  expect(many.text).toBe(plain.text)
})

/** Promise 3.3: A `type` parameter changes no byte of the stream. */
test('a type parameter changes no byte of the stream on either route', async () => {
  await using service = await startService()
  const id = await service.newSession()
  for (const text of ['one', 'two', 'three']) await service.say(id, text)
  const texts: string[] = []
  for (const path of [
    `/v1/sessions/${id}/events?after=1`,
    `/v1/sessions/${id}/events?type=tool.call&after=1`,
    `/v1/api/sessions/${id}/events?after=1&type=nonsense`,
  ]) {
    const stream = await openStream(service, path)
    await stream.until(({ ids }) => ids().length === 2)
    texts.push(stream.text())
    stream.close()
  }
  expect(texts[1]).toBe(texts[0])
  expect(texts[2]).toBe(texts[0])
})
