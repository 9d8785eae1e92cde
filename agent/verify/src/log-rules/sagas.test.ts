import { expect, test } from 'vitest'
import type { SessionEvent } from '@cairn/protocol'
import { sagaRules } from './sagas.ts'

const make = (type: string, data: Record<string, unknown> = {}): SessionEvent =>
  ({
    id: 1,
    session_id: 's',
    created_at: '',
    type,
    data: { saga_id: 'g', ...data },
  }) as unknown as SessionEvent
const start = make('saga.start')
const pause = make('session.pause')
const TYPES: Record<string, string> = {
  executing: 'begin',
  compensating: 'begin',
  committed: 'committed',
  compensated: 'committed',
  failed: 'failed',
  compensation_failed: 'failed',
}
const step = (step_id: string, state: string) => make(`saga.step_${TYPES[state]}`, { step_id, state })
const done = (...ids: string[]) => ids.flatMap(id => [step(id, 'executing'), step(id, 'committed')])
const undone = (...ids: string[]) => ids.flatMap(id => [step(id, 'compensating'), step(id, 'compensated')])
const report = (steps_rolled_back: string[], failed_steps?: string[]) =>
  make('saga.compensate', { steps_rolled_back, ...(failed_steps ? { failed_steps } : {}) })
const end = (status: string) => make('saga.complete', { status })

function judge(events: readonly SessionEvent[]): string[] {
  const rules = sagaRules()
  return [...events.flatMap(event => rules.check(event)), ...rules.atEnd()]
}

test('sagas that are committed, rolled back or escalated in order are sound', () => {
  expect(
    judge([
      start,
      ...done('a', 'b'),
      end('committed'),
      pause,
      { ...start, data: { saga_id: 'h' } } as SessionEvent,
    ]),
  ).toEqual([])
  expect(
    judge([start, ...done('a', 'b'), pause, ...undone('b', 'a'), report(['b', 'a']), end('compensated')]),
  ).toEqual([])
  expect(
    judge([
      start,
      ...done('a', 'b'),
      pause,
      step('b', 'compensating'),
      step('b', 'compensation_failed'),
      ...undone('a'),
      report(['a'], ['b']),
      end('escalated'),
    ]),
  ).toEqual([])
})

test.each<[string, string, SessionEvent[]]>([
  ['a second end', 'no saga with that id is running', [start, end('committed'), end('committed')]],
  ['two sagas at once', 'still running', [start, { ...start, data: { saga_id: 'h' } } as SessionEvent]],
  [
    'a step undone twice',
    'step a is compensated',
    [start, ...done('a'), pause, ...undone('a', 'a'), report(['a']), end('compensated')],
  ],
  [
    'steps undone in the order of their execution',
    'step a is undone before b',
    [start, ...done('a', 'b'), pause, ...undone('a', 'b'), report(['b', 'a']), end('compensated')],
  ],
  ['an undo without a cause', 'no rollback is due', [start, ...done('a'), ...undone('a')]],
  [
    'a failed undo that is not listed',
    'failed_steps does not',
    [
      start,
      ...done('a'),
      pause,
      step('a', 'compensating'),
      step('a', 'compensation_failed'),
      report([]),
      end('compensated'),
    ],
  ],
  ['an empty failed_steps', 'present but empty', [start, pause, report([], []), end('compensated')]],
  [
    'a step that was not undone',
    'neither undone nor listed',
    [start, ...done('a'), pause, report([]), end('compensated')],
  ],
  [
    'an end with the wrong status',
    'ends as committed, expected compensated',
    [start, pause, report([]), end('committed')],
  ],
  [
    'a turn that continues first',
    'a turn continues',
    [start, pause, make('tool.call'), report([]), end('compensated')],
  ],
  ['a missing rollback', 'was not rolled back', [start, pause]],
])('reports %s', (_, what, events) => {
  expect(judge(events)).toEqual(expect.arrayContaining([expect.stringContaining(what)]))
})
