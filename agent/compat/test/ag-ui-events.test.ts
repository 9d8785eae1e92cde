/** The runs of any log, judged by AG-UI's own verifier and its own reader of events. */
import { HttpAgent } from '@ag-ui/client'
import type { SessionRow } from '@cairn/log'
import type { SessionEvent } from '@cairn/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readHistory } from '../src/ag-ui/messages.ts'
import { runEvents } from '../src/ag-ui/run.ts'
import { listMessages } from '../src/changes/exchange.ts'
import { begunLog } from './log-of.ts'
import { storeOf } from './store-of.ts'

const session = { id: 's', agent: 'assistant' } as SessionRow

/** The body of the answer to a run that begins with a message. */
async function bodyOf(log: readonly SessionEvent[], exchange: number, held: never[]): Promise<string> {
  const ref = { session, exchange, start: exchange }
  const run = { ref, threadId: 't', runId: 'r', held, ignored: [] }
  const leave = new AbortController()
  let text = ''
  for await (const events of runEvents(storeOf(log), run, leave.signal))
    text += events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
  return text
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

test('the verifier accepts the run of every exchange, and the client holds the stored messages', async () => {
  let judged = 0
  await fc.assert(
    fc.asyncProperty(begunLog, async log => {
      const begun = (await listMessages(storeOf(log).store, 's')).filter(({ begins }) => begins)
      for (const [at, { event }] of begun.entries()) {
        const next = begun[at + 1]?.event.id
        // The log as it was when the run ended.
        const until = log.filter(({ id }) => next === undefined || id < next)
        const body = await bodyOf(until, event.id, [])
        const agent = new HttpAgent({
          url: 'http://service.test',
          threadId: 't',
          fetch: () =>
            Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } })),
        })
        await agent.runAgent({ runId: 'r' })
        judged++
        const { messages } = await readHistory(storeOf(until), 's', until.at(-1)?.id ?? 0)
        expect(plain(agent.messages)).toEqual(plain(messages.all))
      }
    }),
    { numRuns: 200 },
  )
  expect(judged).toBeGreaterThan(200)
})
