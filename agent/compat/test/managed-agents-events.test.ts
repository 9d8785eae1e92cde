/** The events of any log: each page and each position gives the rest of them, also once deltas are pruned. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SessionEvent } from '@cairn/protocol'
import type { Frame } from '../src/managed-agents/events.ts'
import { followEvents, pageOf, pageQuery } from '../src/managed-agents/history.ts'
import { begunLog } from './log-of.ts'
import { storeOf } from './store-of.ts'

async function streamed(log: readonly SessionEvent[], seen: number): Promise<Frame[]> {
  const leave = new AbortController()
  const frames: Frame[] = []
  const previews = ['agent.message', 'agent.thinking']
  const pages = followEvents(
    storeOf(log, () => leave.abort()),
    's',
    { seen, previews },
    leave.signal,
  )
  for await (const page of pages) frames.push(...page)
  return frames
}

async function listed(log: readonly SessionEvent[], query: string): Promise<unknown[]> {
  const events: unknown[] = []
  for (let page: string | null = ''; page !== null;) {
    const search = new URLSearchParams(`${query}${page === '' ? '' : `&page=${page}`}`)
    const found = await pageOf(storeOf(log), 's', pageQuery(search))
    events.push(...found.data)
    page = found.next_page
  }
  return events
}

const isEvent = ({ preview }: Frame): boolean => !preview
const dataOf = (frames: readonly Frame[]) => frames.map(({ data }) => data)
/** What is left of a log once the deltas before each response are pruned. */
const prune = (log: readonly SessionEvent[]): SessionEvent[] => {
  const last = log.findLastIndex(({ type }) => type === 'llm.response')
  return log.filter(({ type }, at) => type !== 'llm.delta' || at > last)
}

test('positions grow, ids are unique, and the list is the stream without previews', async () => {
  await fc.assert(
    fc.asyncProperty(begunLog, fc.integer({ min: 1, max: 7 }), async (log, limit) => {
      const frames = await streamed(log, 0)
      const positions = frames.map(({ position }) => position)
      expect(positions).toEqual(positions.toSorted((a, b) => a - b))
      const events = frames.filter(isEvent)
      expect(new Set(events.map(({ position }) => position)).size).toBe(events.length)
      expect(new Set(events.map(({ data }) => data['id'])).size).toBe(events.length)
      expect(await listed(log, `limit=${limit}`)).toEqual(dataOf(events))
      expect(await listed(log, `limit=${limit}&order=desc`)).toEqual(dataOf(events).toReversed())
    }),
    { numRuns: 150 },
  )
})

test('a page of types is the filtered whole', async () => {
  const type = fc.constantFrom('user.message', 'agent.message', 'agent.tool_use', 'session.status_idle')
  await fc.assert(
    fc.asyncProperty(begunLog, fc.uniqueArray(type, { minLength: 1 }), async (log, types) => {
      const all = (await listed(log, '')) as { type: string }[]
      const query = types.map(each => `types[]=${each}`).join('&')
      expect(await listed(log, `limit=2&${query}`)).toEqual(
        all.filter(each => types.includes(each.type as never)),
      )
    }),
    { numRuns: 100 },
  )
})

test('each position gives the rest, and the events are the same once the deltas are pruned', async () => {
  await fc.assert(
    fc.asyncProperty(begunLog, fc.nat(), async (log, cut) => {
      const whole = await streamed(log, 0)
      const seen = whole[cut % whole.length]?.position ?? 0
      const rest = whole.filter(({ position }) => position > seen)
      expect(await streamed(log, seen)).toEqual(rest)
      const pruned = await streamed(prune(log), seen)
      expect(dataOf(pruned.filter(isEvent))).toEqual(dataOf(rest.filter(isEvent)))
    }),
    { numRuns: 150 },
  )
})
