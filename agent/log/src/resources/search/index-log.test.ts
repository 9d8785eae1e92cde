import type { EventId } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { type Behind, countBehind, indexLogs, type Logs, type Stretch } from './index-log.ts'

/** A log of messages (m) and chunks (c), and what an indexer does with it. */
function logOf(events: string) {
  const added: [after: EventId | null, through: EventId, texts: EventId[]][] = []
  let log = events
  const logs: Logs = {
    getSession: async () => ({ id: 's', last_event_id: log.length, title: null, agent: 'a' }),
    async read(_, after, limit) {
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
  const target = {
    add({ after, through, texts }: Stretch) {
      added.push([after, through, texts.map(text => text.event_id)])
      return true
    },
    shapes: () => new Map(),
  }
  const behind = (after: EventId | null): Behind[] => [{ id: 's', after }]
  return {
    index: (after: EventId | null) => indexLogs(logs, target, behind(after)),
    count: (after: EventId | null) => countBehind(logs, behind(after)),
    added,
    grow: (more: string) => (log += more),
  }
}

test('a log is indexed to its end, including events without text, so that they are not read again', async () => {
  const { index, added, grow } = logOf('mccc')
  await index(1)
  expect(added).toEqual([[1, 4, []]])
  grow('mc')
  await index(4)
  expect(added.at(-1)).toEqual([4, 6, [5]])
})

test('a log that grew only by chunks is not behind', async () => {
  const { count, grow } = logOf('mcc')
  expect(await count(1)).toBe(0)
  grow('mc')
  expect(await count(1)).toBe(1)
})

test('a log that was never indexed is behind, whatever it contains', async () => {
  const { index, count, added } = logOf('c')
  expect(await count(null)).toBe(1)
  await index(null)
  expect(added).toEqual([[null, 1, [0]]])
})
