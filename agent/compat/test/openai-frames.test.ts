/** The stream of any response, judged by the helper of OpenAI's own client, whole and after a position. */
import type { SessionRow } from '@cairn/log'
import type { SessionEvent } from '@cairn/protocol'
import fc from 'fast-check'
import { ResponseStream } from 'openai/lib/responses/ResponseStream'
import { expect, test } from 'vitest'
import { listMessages, readExchange } from '../src/changes/exchange.ts'
import type { Frame } from '../src/openai/frames.ts'
import { followResponse, framesAfter, type ResponseRef } from '../src/openai/responses.ts'
import { answerOf, begunLog, ended, logOf, said } from './log-of.ts'
import { storeOf } from './store-of.ts'

const session = { id: '00000000-0000-4000-8000-000000000000', agent: 'assistant' } as SessionRow

async function refsOf(log: readonly SessionEvent[]): Promise<ResponseRef[]> {
  const { store } = storeOf(log)
  const refs: ResponseRef[] = []
  for (const { event, begins } of await listMessages(store, session.id)) {
    if (!begins) continue
    for (const { event: start, starts } of await readExchange(store, session.id, event.id))
      if (starts) refs.push({ session, exchange: event.id, start: start.id })
  }
  return refs
}

/** The frames of a response, and whether it is over. */
async function framesOf(
  log: readonly SessionEvent[],
  ref: ResponseRef,
): Promise<{ frames: Frame[]; isOver: boolean }> {
  const leave = new AbortController()
  const frames: Frame[] = []
  for await (const page of followResponse(storeOf(log), ref, leave.signal)) {
    frames.push(...page.frames)
    if (page.isOver || page.atEnd) return { frames, isOver: page.isOver }
  }
  return { frames, isOver: false }
}

async function finalBySdk(frames: readonly Frame[]) {
  const lines = frames.map(({ data }) => `${JSON.stringify(data)}\n`).join('')
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(lines))
      controller.close()
    },
  })
  return ResponseStream.fromReadableStream(stream).finalResponse()
}

const positionsOf = (frames: readonly Frame[]): number[] => frames.map(({ position }) => position)

test('the helper of the client accepts the stream of every response, and ends with its output', async () => {
  let judged = 0
  await fc.assert(
    fc.asyncProperty(begunLog, async log => {
      for (const ref of await refsOf(log)) {
        const { frames, isOver } = await framesOf(log, ref)
        const positions = positionsOf(frames)
        expect(positions).toEqual([...new Set(positions)].toSorted((a, b) => a - b))
        if (!isOver) continue
        judged++
        const last = frames.at(-1)?.data['response'] as { output: unknown[] }
        const { output } = await finalBySdk(frames)
        expect(withoutParsed(output)).toEqual(JSON.parse(JSON.stringify(last.output)))
      }
    }),
    { numRuns: 300 },
  )
  expect(judged).toBeGreaterThan(100)
})

const withoutParsed = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, each: unknown) => (key.startsWith('parsed') ? undefined : each))

/** What is left of a log once the deltas before each response are pruned. */
const prune = (log: readonly SessionEvent[]): SessionEvent[] => {
  const last = log.findLastIndex(({ type }) => type === 'llm.response')
  return log.filter(({ type }, at) => type !== 'llm.delta' || at > last)
}

/** Applies frames as a client does, and returns the texts by item and the items that it was told of. */
function apply(frames: readonly Frame[]) {
  const texts: Record<string, string> = {}
  const added: string[] = []
  for (const { data } of frames) {
    const item = String(data['item_id'])
    if (data.type.endsWith('_text.delta')) texts[item] = (texts[item] ?? '') + String(data['delta'])
    if (data.type.endsWith('_text.done')) {
      expect(String(data['text']).startsWith(texts[item] ?? '')).toBe(true)
      texts[item] = String(data['text'])
    }
    if (data.type === 'response.output_item.added') added.push((data['item'] as { id: string }).id)
  }
  return { texts, added }
}

test('a position before the deltas were pruned continues after it: nothing is lost or begins twice', async () => {
  const word = fc.string({ maxLength: 20 })
  const answers = fc.array(fc.tuple(word, word), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(answers, fc.nat(), async (texts, cut) => {
      const log = logOf(
        said('go'),
        ...texts.flatMap(([reasoning, content], at) =>
          answerOf({ reasoning, content, shown: 0, retried: false, differs: false }, at),
        ),
        ended,
      )
      const ref = { session, exchange: 1, start: 1 }
      const { frames } = await framesOf(log, ref)
      const held = frames.slice(0, cut % frames.length)
      const rest = framesAfter((await framesOf(prune(log), ref)).frames, held.at(-1)?.position ?? -1)
      const whole = apply(frames)
      expect(apply([...held, ...rest])).toEqual(whole)
      expect(rest.at(-1)).toEqual(frames.at(-1))
    }),
    { numRuns: 500 },
  )
})
