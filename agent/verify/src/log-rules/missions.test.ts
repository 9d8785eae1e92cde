/**
 * Each rule about the order of a mission's events, broken once; and the rules for results of scheduled runs.
 */
import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { log, type Written } from '../../test/tree-log.ts'
import { missionRules } from './missions.ts'
import { scheduleRules } from './schedules.ts'

const mission_id = 'm'
const defined: Written = ['mission.defined', { mission_id }]
const told = (synthetic: string, more: object = {}): Written => [
  'user.message',
  { synthetic, mission_id, ...more },
]
const answer: Written = ['llm.response', {}]
/** For a log that starts with `defined` and its kickoff, so that the answer of event 3 is the first. */
const start = (iteration: number, response_event_id = 3): Written => [
  'mission.evaluation.start',
  { mission_id, iteration, response_event_id, trigger: 'round_end' },
]
const end = (iteration: number, result: string, evaluation_start_id = 4): Written => [
  'mission.evaluation.end',
  { mission_id, iteration, result, evaluation_start_id },
]
const continuation = (iteration: number, status_event_id = 5): Written => [
  'mission.continuation',
  { mission_id, iteration, status_event_id },
]
const paused: Written = ['mission.paused', { mission_id }]
const resumed: Written = ['mission.resumed', { mission_id }]
const cancelled = (cascade_to_workers = true): Written => [
  'mission.cancelled',
  { mission_id, cascade_to_workers },
]
const session = (what: string): Written => [`session.${what}`, {}]
const spawned: Written = ['worker.spawned', { worker_id: 'w' }]
const failed: Written = ['worker.failed', { worker_id: 'w' }]

const begun = [defined, told('mission_kickoff'), answer]
const graded = (result: string) => [...begun, start(0), end(1, result)]

function judge(events: readonly Written[]): string {
  const rules = missionRules()
  const found = log(...events).flatMap(event => rules.check(event))
  return [...found, ...rules.atEnd()].join('\n')
}

const second: Written[] = [
  ...graded('needs_revision'),
  continuation(1),
  told('mission_continuation'),
  answer,
  start(1, 8),
]

test.each<[string, Written[]]>([
  ['two rounds, with the second one satisfied', [...second, end(2, 'satisfied', 9), session('complete')]],
  [
    'a pause during the evaluation, and a resume',
    [...begun, start(0), paused, end(1, 'needs_revision'), session('complete'), session('resume'), resumed],
  ],
  ['a stop that ends the evaluation', [...begun, start(0), paused, session('stopped')]],
  ['a mission that lost its evaluator and waits for a person', [...begun, start(0), session('fail')]],
  ['a session that was paused during the evaluation', [...begun, start(0), session('pause')]],
  ['a cancel that ended its worker', [...begun, spawned, failed, cancelled(), session('stopped')]],
  ['a cancel that left its worker', [...begun, spawned, cancelled(false), session('stopped')]],
  ['a mission after another', [...graded('satisfied'), defined, told('mission_kickoff')]],
])('sound: %s', (_, events) => {
  expect(judge(events)).toBe('')
})

test.each<[string, Written[]]>([
  ['a mission is defined while m is active', [...begun, defined]],
  ['mission_kickoff for a mission that is not active', [told('mission_kickoff'), defined]],
  ['mission_deadline for a mission that is not active', [...graded('satisfied'), told('mission_deadline')]],
  ['iteration is 1, expected 0', [...begun, start(1)]],
  ['iteration is 2, expected 1', [...begun, start(0), end(2, 'satisfied')]],
  ['iteration is 0, expected 1', [...second.slice(0, -1), start(0, 8)]],
  ['the span of 4 is open', [...begun, start(0), start(0)]],
  ['response_event_id does not name an earlier llm.response', [...begun, start(0, 2)]],
  ['its span is not open', [...begun, end(1, 'satisfied')]],
  ['its span is not open', [...begun, start(0), session('stopped'), end(1, 'satisfied')]],
  ['it grades a mission that is not active', [...begun, paused, start(0)]],
  ['it grades a mission that is not active', [...graded('satisfied'), start(1)]],
  ['no verdict of the active mission requires it', [...graded('satisfied'), continuation(1)]],
  ['no verdict of the active mission requires it', [...graded('needs_revision'), paused, continuation(1)]],
  ['no verdict of the active mission requires it', [...graded('needs_revision'), continuation(2)]],
  ['must be followed by its message', [...graded('needs_revision'), continuation(1), session('complete')]],
  ['no mission.continuation precedes it', [...begun, told('mission_continuation')]],
  ['mission m is not active', [...begun, paused, paused]],
  ['mission m is not active', [...graded('satisfied'), paused]],
  ['mission m is not paused or blocked', [...begun, resumed]],
  ['mission m is not paused or blocked', [...graded('failed'), resumed]],
  ['mission m is not active or paused or blocked', [...begun, cancelled(), cancelled()]],
  ['mission m is not active or paused or blocked', [...graded('satisfied'), cancelled()]],
  ['worker w is open after the cancel', [...begun, spawned, cancelled()]],
  ['the grading that event 4 started has no end', [...begun, start(0)]],
  ['its session has ended without a verdict', [...begun, session('complete')]],
  ['its session has ended without a verdict', [...graded('needs_revision'), session('complete')]],
])('reports: %s', (what, events) => {
  expect(judge(events)).toContain(what)
})

const result = (run: number, more: object = {}): Written => [
  'loop.result',
  {
    scheduled_session_id: 's',
    run_session_id: `r${run}`,
    run_number: run,
    slot_at: `T${run}`,
    outcome: 'success',
    ...more,
  },
]
const results = (...events: Written[]): string => {
  const check = scheduleRules()
  return log(...events)
    .flatMap((event: SessionEvent) => check(event))
    .join('\n')
}

test('results of runs are numbered per schedule', () => {
  const other = result(1, { scheduled_session_id: 'other', run_session_id: 'o1' })
  expect(results(result(1), other, result(2), result(3))).toBe('')
})

test.each<[string, Written[]]>([
  ['run r1 already has a result', [result(1), result(1)]],
  ['schedule s reports run 3 after run 1', [result(1), result(3)]],
  ['schedule s reports run 1 after run 2', [result(1), result(2), result(1, { run_session_id: 'r3' })]],
  ['schedule s already has a run for T1', [result(1), result(2, { slot_at: 'T1' })]],
])('reports for results: %s', (what, events) => {
  expect(results(...events)).toContain(what)
})
