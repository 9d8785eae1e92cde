import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { changedFiles, forkedFrom, runChanges } from './changes.ts'

const call = (id: number, path: string, hash?: string) =>
  ({
    id,
    type: 'tool.call',
    data: { tool_call_id: `c${id}`, name: 'edit_file', arguments: { path }, checkpoint_hash: hash },
  }) as unknown as SessionEvent
const result = (id: number, of: number, content = '{"path":"x"}') =>
  ({ id, type: 'tool.result', data: { tool_call_id: `c${of}`, content } }) as unknown as SessionEvent

const LOG = [
  call(1, 'a.txt', 'h1'),
  result(2, 1),
  call(3, './b.txt', 'h3'),
  result(4, 3, '{"error":"Tool execution failed: x"}'),
  call(5, '__WORKSPACE__/a.txt', 'h5'),
  result(6, 5),
  call(11, 'src/../a.txt', 'h11'),
  call(12, 'c.txt', 'h12'),
  call(13, 'd.txt'),
]

test('session: each file from its first checkpoint to its current state, without failed calls', () => {
  expect(changedFiles(LOG, { from: 0, through: Infinity })).toEqual([
    { path: 'a.txt', before: 'h1', after: null, calls: 3, eventId: 11 },
    { path: 'c.txt', before: 'h12', after: null, calls: 1, eventId: 12 },
  ])
})

test('turn: each file from its first checkpoint to the next one after the turn', () => {
  expect(changedFiles(LOG, { from: 1, through: 10 })).toEqual([
    { path: 'a.txt', before: 'h1', after: 'h11', calls: 2, eventId: 5 },
  ])
  expect(changedFiles(LOG, { from: 5, through: 6 })).toEqual([
    { path: 'a.txt', before: 'h5', after: 'h11', calls: 1, eventId: 5 },
  ])
})

test('coding agents: the changes in their results, in the range in which they ended', () => {
  const between = { before: 'h1', after: 'h2' }
  const ended = (id: number, files_changed?: string[], changes?: typeof between) =>
    ({
      id,
      type: 'code.run_result',
      data: { run_id: `r${id}`, agent: 'cairn', files_changed, changes },
    }) as unknown as SessionEvent
  const log = [ended(4, ['src/a.ts'], between), ended(6, ['old.ts']), ended(8), ended(12, ['b.ts'])]
  expect(runChanges(log, { from: 0, through: 10 })).toEqual([
    { run_id: 'r4', agent: 'cairn', files: ['src/a.ts'], between, eventId: 4 },
    { run_id: 'r6', agent: 'cairn', files: ['old.ts'], between: null, eventId: 6 },
  ])
})

test('fork: where it starts; no other log has a fork', () => {
  const said = (data: object) => ({ id: 1, type: 'user.message', data }) as unknown as SessionEvent
  const forked_from = { session_id: 'other', event_id: 5 }
  expect(forkedFrom([said({ synthetic: 'fork', forked_from }), ...LOG])).toEqual(forked_from)
  expect(forkedFrom([said({ content: 'hello' }), said({ synthetic: 'fork', forked_from })])).toBe(null)
  expect(forkedFrom(LOG)).toBe(null)
})
