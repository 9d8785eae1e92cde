import type { EventId } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { createIndexer, type Logs, type Stretch } from './index-log.ts'

/** A log of messages (m) and chunks (c), and what an indexer does with it. */
function logOf(events: string) {
  const reads: EventId[] = []
  const added: [after: EventId | null, through: EventId, texts: EventId[]][] = []
  let log = events
  const logs: Logs = {
    getSession: async () => ({ id: 's', last_event_id: log.length, title: null, agent: 'a' }),
    async read(_, after, limit) {
      reads.push(after)
      return [...log]
        .map((kind, at) => ({ kind, id: at + 1 }))
        .filter(({ kind, id }) => kind === 'm' && id > after)
        .slice(0, limit)
        .map(({ id }) => {
          const data = { content: `word${id}` }
          const record = {
            id,
            session_id: 's',
            type: 'user.message',
            created_at: '2026-01-01T00:00:00.000Z',
            data,
          }
          return { id, type: 'user.message' as const, json: JSON.stringify(record) }
        })
    },
  }
  const indexer = createIndexer(logs, {
    add({ after, through, texts }: Stretch) {
      added.push([after, through, texts.map(text => text.event_id)])
      return true
    },
  })
  return {
    indexer,
    reads,
    added,
    behind: (after: EventId | null) => [{ id: 's', after, newest: log.length }],
    grow: (more: string) => (log += more),
  }
}

test('an answer that grows by chunks is looked at from where it was left, and brings no transaction', async () => {
  const { indexer, reads, added, behind, grow } = logOf('mcc')
  await indexer.follow(behind(1))
  grow('cc')
  await indexer.follow(behind(1))
  grow('c')
  await indexer.follow(behind(1))
  expect(reads).toEqual([1, 3, 5])
  expect(added).toEqual([])
  expect(await indexer.count(behind(1)), 'nothing is missing').toBe(0)
  grow('mc')
  expect(await indexer.count(behind(1))).toBe(1)
  await indexer.follow(behind(1))
  expect(added, 'its cursor goes on from where it was').toEqual([[1, 8, [7]]])
})

test('when all are compared the cursor moves over what is not indexed, so that nobody looks there again', async () => {
  const { indexer, added, behind } = logOf('mccc')
  await indexer.follow(behind(1))
  await indexer.compare(behind(1))
  expect(added).toEqual([[1, 4, []]])
})

test('a log that was never indexed is, whatever it holds', async () => {
  const { indexer, added, behind } = logOf('c')
  expect(await indexer.count(behind(null))).toBe(1)
  await indexer.follow(behind(null))
  expect(added).toEqual([[null, 1, [0]]])
})
