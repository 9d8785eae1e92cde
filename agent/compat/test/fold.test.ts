/** The fold of a log into changes: every type, any split, pruned deltas, approvals. */
import { EVENT_TYPES, type EventType, type SessionEvent } from '@cairn/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change, ChangeKind } from '../src/changes/change.ts'
import { foldEvent } from '../src/changes/fold.ts'
import { emptyFold } from '../src/changes/state.ts'
import { passBoundary } from '../src/changes/boundary.ts'
import { begunLog, logOf } from './log-of.ts'

const changesOf = (events: readonly SessionEvent[], state = emptyFold()): Change[] =>
  events.flatMap(event => foldEvent(state, event))

/** Every event type, with what it can become. */
const BECOMES: Record<EventType, readonly ChangeKind[]> = {
  'user.message': ['begun', 'steered', 'decided', 'result', 'answered'],
  'llm.request': ['step', 'reset'],
  'llm.delta': ['text', 'reasoning', 'reset'],
  'llm.heartbeat': [],
  'llm.thinking': ['reasoning', 'reset'],
  'llm.response': ['text', 'reasoning', 'reset', 'usage'],
  'ask_user_question.response': ['answered'],
  'iteration.summary': [],
  'turn.summary': [],
  'advisor.request': [],
  'advisor.result': [],
  'advisor.failure': [],
  'tool.call': ['call'],
  'tool.result': ['call', 'result', 'ended'],
  'skill.invoked': [],
  'todo.updated': ['note'],
  'worker.spawned': ['child'],
  'worker.complete': ['child'],
  'worker.failed': ['child'],
  'delegation.start': [],
  'delegation.complete': [],
  'delegation.failed': [],
  'delegation.stale': [],
  'task.blocked': [],
  'task.failed': [],
  'board.note': [],
  'board.update': [],
  'mission.defined': [],
  'mission.evaluation.start': [],
  'mission.evaluation.end': ['note'],
  'mission.continuation': [],
  'mission.paused': [],
  'mission.resumed': [],
  'mission.cancelled': [],
  'research.defined': [],
  'research.harvested': [],
  'research.converged': [],
  'policy.denied': [],
  'policy.allowed': [],
  'disclosure.presented': [],
  'disclosure.confirmed': [],
  'saga.start': [],
  'saga.step_begin': [],
  'saga.step_committed': [],
  'saga.step_failed': [],
  'saga.compensate': [],
  'saga.complete': [],
  'expert.delegation': [],
  'expert.result': [],
  'expert.failure': [],
  'expert.endorse': [],
  'expert.override': [],
  'user.feedback': [],
  'user.define_outcome': [],
  'outcome.defined': [],
  'span.outcome_evaluation_start': [],
  'span.outcome_evaluation_ongoing': [],
  'span.outcome_evaluation_end': ['note'],
  'outcome.continuation': [],
  'outcome.paused': [],
  'outcome.cleared': [],
  'inbox.input_required': ['asked', 'ended'],
  'inbox.action_required': ['asked', 'ended'],
  'inbox.task_complete': [],
  'inbox.governance_gate': ['call', 'gate'],
  'inbox.progress_checkin': [],
  'browser.provisioned': [],
  'browser.destroyed': [],
  'browser.control_granted': [],
  'browser.control_returned': [],
  'code.run_started': [],
  'code.run_progress': [],
  'code.run_channel_update': [],
  'code.run_result': [],
  'harness.wake': [],
  'session.pause': ['ended'],
  'session.resume': [],
  'session.complete': ['ended', 'result'],
  'session.fail': ['ended', 'result'],
  'session.stopped': ['ended', 'result', 'answered'],
  'session.model_escalated': [],
  'session.title_updated': ['note'],
  'harness.crash': [],
  'harness.recovered': [],
  'context.compact': ['note'],
  'artifact.created': ['note'],
  'loop.result': [],
  'session.start': [],
  'session.reset': [],
  'memory.update': [],
  'artifact.updated': [],
  'ambient.tick': [],
  'ambient.post': [],
  'sandbox.provision': [],
  'sandbox.execute': [],
  'sandbox.result': [],
  'sandbox.destroy': [],
  'research.dispatched': [],
  'research.merged': [],
  'research.pruned': [],
  'research.report': [],
}

const RUNS = { numRuns: 200 }

describe('the fold of any log', () => {
  test('names every event type, and each becomes only what the table says', () => {
    expect(Object.keys(BECOMES).toSorted()).toEqual([...EVENT_TYPES].toSorted())
    fc.assert(
      fc.property(begunLog, events => {
        const state = emptyFold()
        for (const event of events)
          for (const { kind } of foldEvent(state, event))
            if (!BECOMES[event.type].includes(kind)) expect.fail(`${event.type} became ${kind}`)
      }),
      RUNS,
    )
  })

  test('gives the same changes wherever the log is split', () => {
    fc.assert(
      fc.property(begunLog, fc.nat({ max: 40 }), (events, at) => {
        const first = emptyFold()
        const head = changesOf(events.slice(0, at), first)
        const stored = JSON.parse(JSON.stringify(first)) as typeof first
        expect([...head, ...changesOf(events.slice(at), stored)]).toEqual(changesOf(events))
      }),
      RUNS,
    )
  })

  test('finds the same exchanges by the few types of the boundary', () => {
    fc.assert(
      fc.property(begunLog, events => {
        const boundary = { running: false }
        const begun = events.filter(event => passBoundary(boundary, event)).map(({ id }) => id)
        expect(changesOf(events).flatMap(c => (c.kind === 'begun' ? [c.message.id] : []))).toEqual(begun)
      }),
      RUNS,
    )
  })

  test('closes each text that it opens before the next event of its kind, and never the same twice', () => {
    fc.assert(
      fc.property(begunLog, events => {
        const open = new Set<string>()
        for (const change of changesOf(events)) {
          if (change.kind === 'reset')
            for (const kind of ['text', 'reasoning']) open.delete(`${kind}${change.part}`)
          if (change.kind === 'begun') open.clear()
          if (change.kind !== 'text' && change.kind !== 'reasoning') continue
          const key = `${change.kind}${change.part}`
          expect(open.has(key)).toBe(change.phase !== 'start')
          if (change.phase === 'start') open.add(key)
          if (change.phase === 'end') open.delete(key)
        }
      }),
      RUNS,
    )
  })
})

const turn = { turn_id: 't', iteration_index: 0 }
const texts = (changes: readonly Change[]): string =>
  changes
    .map(c => (c.kind === 'text' && c.phase === 'delta' ? c.text : c.kind === 'reset' ? '✂' : ''))
    .join('')
const ANSWER = 'text.start text.delta text.end usage'
const kinds = (changes: readonly Change[]): string =>
  changes.map(c => ('phase' in c ? `${c.kind}.${c.phase}` : c.kind)).join(' ')

const answered = (content: string) =>
  [
    'llm.response',
    {
      message: { role: 'assistant', content },
      model: 'm',
      input_tokens: 1,
      output_tokens: 1,
      reasoning_tokens: 0,
      cache_read_tokens: 0,
      finish_reason: 'stop',
      context_window: 9,
      ...turn,
    },
  ] as const

describe('the text of an answer', () => {
  const said = ['user.message', { content: 'hi' }] as const
  const asked = ['llm.request', { model: 'm', ...turn }] as const
  const shown = (content: string) => ['llm.delta', { content, ...turn }] as const

  test('is completed by the response', () => {
    const log = logOf(said, asked, shown('Hel'), answered('Hello'))
    expect(texts(changesOf(log))).toBe('Hello')
  })

  test('is the same when the deltas are pruned', () => {
    const log = logOf(said, asked, shown('Hel'), shown('lo'), answered('Hello'))
    const pruned = log.filter(({ type }) => type !== 'llm.delta')
    expect(texts(changesOf(pruned))).toBe('Hello')
    expect(kinds(changesOf(pruned))).toBe('begun step text.start text.delta text.end usage')
  })

  test('is reset when the call is repeated, and when the response differs from what was shown', () => {
    const again = ['llm.request', { model: 'm', ...turn, attempt: 1 }] as const
    const reset = ['llm.delta', { reset: true, ...turn }] as const
    expect(
      texts(changesOf(logOf(said, asked, shown('Hel'), again, reset, shown('Hi'), answered('Hi you')))),
    ).toBe('Hel✂Hi you')
    expect(texts(changesOf(logOf(said, asked, shown('Hel'), answered('Bye'))))).toBe('Hel✂Bye')
  })
})

describe('approvals', () => {
  const call = (id: string, more: object = {}) =>
    ['tool.call', { tool_call_id: id, name: 'terminal', arguments: { command: 'x' }, ...more }] as const
  const result = (id: string, content: string, elapsed_ms = 0) =>
    ['tool.result', { tool_call_id: id, name: 'terminal', content, elapsed_ms }] as const
  const gate = (id: string, more: object = {}) =>
    [
      'inbox.governance_gate',
      {
        tool_name: 'terminal',
        tool_call_id: id,
        arguments_excerpt: '{}',
        deny_reason: 'why',
        policy_id: 'p',
        arguments: { command: 'x' },
        ...more,
      },
    ] as const
  const marker = JSON.stringify({ error: 'policy_blocked_overridable', message: 'why' })
  const decision = (id: string, made: string) =>
    [
      'user.message',
      {
        content: '[Decision]',
        synthetic: 'governance_decision',
        tool_call_id: id,
        metadata: { decision: made },
      },
    ] as const
  const complete = ['session.complete', { reason: 'completed' }] as const
  const held = [
    ['user.message', { content: 'go' }],
    ['llm.request', { model: 'm', ...turn }],
    answered('I run it.'),
    call('a', { verdict: 'ask' }),
    gate('a'),
    result('a', marker),
  ] as const

  test('hide the marker and the repeated call, whose result is that of the gated call', () => {
    const changes = changesOf(
      logOf(
        ...held,
        complete,
        decision('a', 'approve'),
        ['llm.request', { model: 'm', turn_id: 'u', iteration_index: 0 }],
        call('b', { approves_tool_call_id: 'a' }),
        result('b', 'done', 3),
        complete,
      ),
    )
    expect(kinds(changes)).toBe(`begun step ${ANSWER} call gate ended decided step result ended`)
    expect(changes.find(({ kind }) => kind === 'result')).toMatchObject({
      call: 'a',
      content: 'done',
      failed: false,
    })
  })

  test('end as an error when the agent does not repeat the call, and without one when it was rejected', () => {
    const approved = changesOf(logOf(...held, complete, decision('a', 'approve'), complete))
    expect(kinds(approved)).toBe(`begun step ${ANSWER} call gate ended decided result ended`)
    expect(approved.find(({ kind }) => kind === 'result')).toMatchObject({ call: 'a', failed: true })
    const rejected = changesOf(logOf(...held, complete, decision('a', 'reject'), complete))
    expect(kinds(rejected)).toBe(`begun step ${ANSWER} call gate ended decided ended`)
  })

  test('keep what follows in the same step while they are undecided', () => {
    const next = ['llm.request', { model: 'm', turn_id: 't', iteration_index: 1 }] as const
    expect(kinds(changesOf(logOf(...held, next)))).toBe(`begun step ${ANSWER} call gate`)
  })

  test('are asked for once: a repetition of the same call is not shown', () => {
    const again = [
      call('c', { verdict: 'ask' }),
      gate('c', { repeats_tool_call_id: 'a' }),
      result('c', marker),
    ] as const
    expect(kinds(changesOf(logOf(...held, ...again)))).toBe(`begun step ${ANSWER} call gate`)
  })

  test('a decision about an earlier exchange starts a turn of the open one, and is not shown there', () => {
    const changes = changesOf(
      logOf(...held, complete, ['user.message', { content: 'other' }], complete, decision('a', 'approve')),
    )
    expect(kinds(changes)).toBe(`begun step ${ANSWER} call gate ended begun ended`)
  })
})

describe('questions', () => {
  const asks = [
    ['user.message', { content: 'go' }],
    ['llm.request', { model: 'm', ...turn }],
    answered('I ask.'),
    ['tool.call', { tool_call_id: 'q', name: 'ask_user_question', arguments: {} }],
    ['inbox.input_required', { tool_call_id: 'q', questions: [{ prompt: 'P' }] }],
  ] as const

  test('bring the exchange to rest, and the answer continues it', () => {
    const changes = changesOf(
      logOf(
        ...asks,
        ['ask_user_question.response', { tool_call_id: 'q', responses: [{ question: 'P', answer: 'x' }] }],
        [
          'tool.result',
          { tool_call_id: 'q', name: 'ask_user_question', content: '{"responses":[]}', elapsed_ms: 1 },
        ],
      ),
    )
    expect(kinds(changes)).toBe(`begun step ${ANSWER} asked ended answered`)
  })

  test('that a stop expires are answered as cancelled', () => {
    const changes = changesOf(logOf(...asks, ['session.stopped', { reason: 'stopped' }]))
    expect(kinds(changes)).toBe(`begun step ${ANSWER} asked ended answered ended`)
    expect(changes.at(-2)).toMatchObject({ output: { cancelled: true } })
  })
})
