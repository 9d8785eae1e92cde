import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { checkFamily } from './family.ts'

type Written = [type: string, data: Record<string, unknown>]
const log = (...events: Written[]): SessionEvent[] =>
  events.map(([type, data], at) => ({
    id: at + 1,
    type,
    data,
    session_id: 'any',
    created_at: typeof data['at'] === 'string' ? data['at'] : 'at once',
  })) as SessionEvent[]
const spawned: Written = ['worker.spawned', { worker_id: 'child', depth: 1 }]
const done: Written = ['worker.complete', { worker_id: 'child' }]
const end: Written = ['session.complete', { reason: 'completed' }]
const family = (root: Written[], child: Written[]) =>
  checkFamily(
    new Map([
      ['root', log(...root)],
      ['child', log(...child)],
    ]),
  )

test('a child that ended and was told of once is sound, and so is one that is open', () => {
  expect(family([spawned, done], [end])).toEqual([])
  expect(family([spawned], [])).toEqual([])
})

test.each([
  ['spawned twice', [spawned, spawned, done], [end]],
  ['nobody spawned it', [], []],
  ['has 2 outcomes', [spawned, done, done], [end]],
  ['comes before it was spawned', [done, spawned], [end]],
  ['its parent was not told', [spawned], [end]],
  ['an end it does not have', [spawned, done], []],
  ['its depth is 2', [['worker.spawned', { worker_id: 'child', depth: 2 }], done], [end]],
  ['its parent was told at', [spawned, ['worker.complete', { worker_id: 'child', at: 'later' }]], [end]],
  ['is told as complete', [spawned, done], [['session.fail', {}]]],
  ['is told as failed', [spawned, ['worker.failed', { worker_id: 'child', cause: 'error' }]], [end]],
] as [string, Written[], Written[]][])('it finds: %s', (what, root, child) => {
  expect(family(root, child).join()).toContain(what)
})
