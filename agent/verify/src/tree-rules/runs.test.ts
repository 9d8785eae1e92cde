/** Each rule about a scheduled run and the session above it, broken once. */
import { expect, test } from 'vitest'
import { log, type Written } from '../../test/tree-log.ts'
import { checkTree } from './check-tree.ts'

const begins: Written = ['user.message', { synthetic: 'loop_run' }]
const result = (outcome: string, more: object = {}): Written => [
  'loop.result',
  { scheduled_session_id: 's', run_session_id: 'run', run_number: 1, slot_at: 'T', outcome, ...more },
]
const end = (reason = 'completed'): Written => ['session.complete', { reason }]
const fail: Written = ['session.fail', {}]
const judge = (root: Written[], run: Written[]): string =>
  checkTree(new Map(Object.entries({ root: log(...root), run: log(begins, ...run) })), {
    settled: true,
  }).join('\n')
const gate: Written = ['inbox.governance_gate', { tool_call_id: 'c', tool_name: 'note' }]

test.each<[string, Written[], Written[]]>([
  ['a successful run', [result('success')], [end()]],
  ['a run without an answer', [result('empty')], [end()]],
  ['a failed run', [result('failed')], [fail]],
  ['a stopped run', [result('cancelled')], [end('stopped')]],
  [
    'a run that waits for a person',
    [],
    [['tool.call', { tool_call_id: 'c', name: 'note', arguments: {} }], gate],
  ],
  ['a paused run', [], [['session.pause', { reason: 'paused by user' }]]],
])('sound: %s', (_, root, run) => {
  expect(judge(root, run)).toBe('')
})

test.each<[string, Written[], Written[]]>([
  ['run: its result was reported 2 times', [result('success'), result('success')], [end()]],
  ['run: a result of a run that has not ended', [result('success')], []],
  ['run: the run has ended, but its result was not reported', [], [end()]],
  ['run: it ended at at once, but was reported at later', [result('success', { at: 'later' })], [end()]],
  ['run: it is reported as success, but ended with session.fail', [result('success')], [fail]],
  ['run: it is reported as failed, but ended with session.complete', [result('failed')], [end()]],
  ['run: it has not ended, but waits for no person or worker', [], []],
  ['a result of none, which is not a run', [result('success', { run_session_id: 'none' })], [fail]],
])('reports: %s', (what, root, run) => {
  expect(judge(root, run)).toContain(what)
})
