/** A turn that ends between two reads: the end of the log, and the state of its session. */
import type { SessionRow } from '@cairn/log'
import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { runEvents } from '../src/ag-ui/run.ts'
import { chunksSoFar } from '../src/ai-sdk/stream.ts'
import { answerOf, ended, logOf, said } from './log-of.ts'
import { storeOf } from './store-of.ts'

const answer = (content: string, at: number) =>
  answerOf({ reasoning: '', content, shown: 0, retried: false, differs: false }, at)
const ALL = logOf(said('plan it'), ...answer('I plan.', 0), ...answer('Planned.', 1), ended)
/** Events up to the first answer. */
const SHOWN = ALL.findIndex(({ type }) => type === 'llm.response') + 1

/** The log that a reader has just read to its end when the rest of the turn is committed. */
function endingStore() {
  const log: SessionEvent[] = ALL.slice(0, SHOWN)
  return storeOf(log, () => log.push(...ALL.slice(log.length)))
}

test('an AG-UI run is followed to its end', async () => {
  const session = { id: 's', agent: 'assistant' } as SessionRow
  const run = { ref: { session, exchange: 1, start: 1 }, threadId: 't', runId: 'r', held: [], ignored: [] }
  let text = ''
  for await (const events of runEvents(endingStore(), run, new AbortController().signal))
    for (const event of events) if (event.type === 'TEXT_MESSAGE_CONTENT') text += event['delta']
  expect(text).toBe('I plan.Planned.')
})

test('a chat of the AI SDK that was read before its end is resumed', async () => {
  const place = { session_id: 's', exchange: 1 }
  expect(await chunksSoFar(endingStore(), place)).toMatchObject({ ended: null, rests: false })
  const whole = await chunksSoFar(storeOf(ALL), place)
  expect(whole).toMatchObject({ ended: { end: { reason: 'completed' } }, rests: false })
  // Nothing runs, and the log has no end.
  expect(await chunksSoFar(storeOf(ALL.slice(0, SHOWN)), place)).toMatchObject({ ended: null, rests: true })
})
