/** The chunks of any log, judged by the AI SDK's own schema and its own reader of streams. */
import { readUIMessageStream, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from 'ai'
import type { SessionEvent } from '@cairn/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Chunk, createChunkWriter } from '../src/ai-sdk/chunks.ts'
import { createMessageBuilder } from '../src/ai-sdk/messages.ts'
import { skipSteps } from '../src/ai-sdk/stream.ts'
import { foldEvent } from '../src/changes/fold.ts'
import { emptyFold } from '../src/changes/state.ts'
import { begunLog } from './log-of.ts'
import { plain } from './chat-client.ts'

/** The chunks of each exchange of a log. */
function exchangesOf(events: readonly SessionEvent[]): Chunk[][] {
  const state = emptyFold()
  const exchanges: Chunk[][] = []
  let writer = createChunkWriter('s')
  for (const event of events)
    for (const change of foldEvent(state, event)) {
      if (change.kind === 'begun') {
        writer = createChunkWriter('s')
        exchanges.push([])
      }
      exchanges.at(-1)?.push(...writer.take(change))
    }
  return exchanges
}

/** The reader shows an empty step only with the next change. */
const LAST: Chunk = { type: 'message-metadata', messageMetadata: {} }

async function readBySdk(chunks: readonly Chunk[]): Promise<UIMessage | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of [...chunks, LAST])
        controller.enqueue(structuredClone(chunk) as unknown as UIMessageChunk)
      controller.close()
    },
  })
  let last: UIMessage | undefined
  const failures: unknown[] = []
  for await (const message of readUIMessageStream({ stream, onError: error => void failures.push(error) }))
    last = message
  expect(failures).toEqual([])
  return last
}

test('every chunk fits the schema of the SDK', async () => {
  const { validate } = uiMessageChunkSchema()
  await fc.assert(
    fc.asyncProperty(begunLog, async events => {
      for (const chunk of exchangesOf(events).flat())
        expect(await validate?.(chunk)).toMatchObject({ success: true })
    }),
  )
})

test('the stored message of any exchange is what the reader of the SDK makes of its chunks', async () => {
  await fc.assert(
    fc.asyncProperty(begunLog, async events => {
      for (const chunks of exchangesOf(events)) {
        const builder = createMessageBuilder()
        for (const chunk of chunks) builder.take(structuredClone(chunk))
        const read = await readBySdk(chunks)
        if (read !== undefined) expect(plain([builder.message()])).toEqual(plain([read]))
      }
    }),
  )
})

test('a client that holds any beginning of the chunks reaches the same message by its last step', async () => {
  await fc.assert(
    fc.asyncProperty(begunLog, fc.nat({ max: 200 }), async (events, at) => {
      for (const chunks of exchangesOf(events)) {
        const held = chunks.slice(0, at)
        const steps = held.filter(({ type }) => type === 'start-step').length
        if (steps === 0) continue
        const again = skipSteps(steps)(chunks)
        const whole = await readBySdk(chunks)
        expect(plain([await readBySdk([...held, ...again])])).toEqual(plain([whole]))
      }
    }),
  )
})
