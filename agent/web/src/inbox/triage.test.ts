import type { InboxItem } from '@cairn/protocol'
import { expect, test } from 'vitest'
import {
  afterDecision,
  batchKey,
  groupBySession,
  isWanted,
  neighbour,
  readInboxView,
  toggled,
} from './triage.ts'

const itemOf = (id: string, over: Partial<InboxItem> = {}): InboxItem => ({
  id,
  session_id: 's1',
  root_session_id: 's1',
  agent: 'assistant',
  session_title: 'One',
  source_event_id: 1,
  kind: 'governance_gate',
  status: 'pending',
  title: id,
  body: null,
  payload: { tool_name: 'edit_file', arguments: { path: 'a' }, shown_hash: 'h', redactions: 0 },
  decision: null,
  read_at: null,
  created_at: `2026-01-01T00:00:0${id.length}.000Z`,
  expires_at: null,
  responded_at: null,
  ...over,
})
const idsOf = (items: readonly InboxItem[]): string => items.map(({ id }) => id).join(' ')

test('the view is read from the address, and invalid values are ignored', () => {
  expect(readInboxView({})).toEqual({ tab: 'needs' })
  expect(readInboxView({ tab: 'news', kind: 'task_complete', from: 'bot', item: 'x' })).toEqual({
    tab: 'news',
    kind: 'task_complete',
    from: 'bot',
    item: 'x',
  })
  expect(readInboxView({ tab: 'all', kind: 'mail', from: 4, item: '' })).toEqual({ tab: 'needs' })
})

test('filters keep items of a kind and of an agent', () => {
  const gate = itemOf('a')
  expect(isWanted(gate, {})).toBe(true)
  expect(isWanted(gate, { kind: 'governance_gate', from: 'assistant' })).toBe(true)
  expect(isWanted(gate, { kind: 'input_required' })).toBe(false)
  expect(isWanted(gate, { from: 'other' })).toBe(false)
})

test('sessions are ordered by their oldest item, and each lists the oldest first', () => {
  const groups = groupBySession([
    itemOf('bbbb', { session_id: 's2' }),
    itemOf('a', { session_id: 's2' }),
    itemOf('ccc', { session_id: 's1' }),
    itemOf('dd', { session_id: 's1' }),
  ])
  expect(groups.map(({ sessionId, items }) => `${sessionId}: ${idsOf(items)}`)).toEqual([
    's2: a bbbb',
    's1: dd ccc',
  ])
})

test('moving stops at both ends, and starts at the first item', () => {
  const items = [itemOf('a'), itemOf('b'), itemOf('c')]
  expect(neighbour(items, 'b', 1)?.id).toBe('c')
  expect(neighbour(items, 'c', 1)?.id).toBe('c')
  expect(neighbour(items, 'a', -1)?.id).toBe('a')
  expect(neighbour(items, 'gone', 1)?.id).toBe('a')
  expect(neighbour([], 'a', 1)).toBeUndefined()
})

test('after a decision the next item is selected, at the end the one before', () => {
  const items = [itemOf('a'), itemOf('b'), itemOf('c')]
  expect(afterDecision(items, new Set(['b']))?.id).toBe('c')
  expect(afterDecision(items, new Set(['c']))?.id).toBe('b')
  expect(afterDecision(items, new Set(['a', 'b']))?.id).toBe('c')
  expect(afterDecision(items, new Set(['b', 'c']))?.id).toBe('a')
  expect(afterDecision(items, new Set(['a', 'b', 'c']))).toBeUndefined()
})

test('a batch is approvals of one session and one family of tools, each shown in full', () => {
  const edit = itemOf('a')
  const payloadWith = (more: object) => ({ payload: { ...edit.payload, ...more } })
  expect(batchKey(itemOf('b', payloadWith({ tool_name: 'write_file' })))).toBe(batchKey(edit))
  expect(batchKey(itemOf('b', payloadWith({ tool_name: 'terminal' })))).not.toBe(batchKey(edit))
  expect(batchKey(itemOf('b', { session_id: 's2' }))).not.toBe(batchKey(edit))
  for (const hidden of [{ redactions: 1 }, { shown_hash: undefined }, { arguments: undefined }])
    expect(batchKey(itemOf('b', payloadWith(hidden)))).toBeNull()
  expect(batchKey(itemOf('b', { status: 'responded' }))).toBeNull()
  expect(batchKey(itemOf('b', { kind: 'input_required' }))).toBeNull()
})

test('selecting an item of another batch starts a new selection', () => {
  const items = [itemOf('a'), itemOf('b'), itemOf('c', { session_id: 's2' })]
  const both = toggled(items, toggled(items, new Set(), 'a'), 'b')
  expect([...both]).toEqual(['a', 'b'])
  expect([...toggled(items, both, 'a')]).toEqual(['b'])
  expect([...toggled(items, both, 'c')]).toEqual(['c'])
  expect(toggled([...items, itemOf('q', { kind: 'input_required' })], both, 'q')).toBe(both)
})
