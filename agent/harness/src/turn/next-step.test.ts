import { Config, type SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { setUpAgent } from '../governance/agent.ts'
import { bindAsks } from '../capabilities/index.ts'
import { commandCapabilities } from '../capabilities/commands/capability.ts'
import { goalContinuation, goalGrading } from '../capabilities/goals/capability.ts'
import { NO_SKILLS } from '../capabilities/skills/catalogue.ts'
import type { AskSettings } from './capability.ts'
import { CONTINUATIONS, LOOP_LENGTH, nextStep } from './next-step.ts'
import { foldPosition, startPosition } from './position.ts'

type Line = [type: string, data?: Record<string, unknown>]
const at = (iteration_index: number) => ({ turn_id: 't', iteration_index })
const message: Line = ['user.message', { content: 'go' }]
const request = (iteration: number, extra = {}): Line => [
  'llm.request',
  { model: 'm', ...at(iteration), ...extra },
]
const answer = (iteration: number, content: string, calls: string[] = [], finish_reason = 'stop'): Line => [
  'llm.response',
  {
    message: {
      role: 'assistant',
      content,
      ...(calls.length > 0
        ? {
            tool_calls: calls.map(id => ({
              id,
              type: 'function',
              function: { name: 'look', arguments: '{}' },
            })),
          }
        : {}),
    },
    finish_reason,
    input_tokens: 0,
    output_tokens: 0,
    ...at(iteration),
  },
]
const called = (id: string): Line => ['tool.call', { tool_call_id: id, name: 'look', arguments: {} }]
const result = (id: string, content = 'r'): Line => [
  'tool.result',
  { tool_call_id: id, name: 'look', content, elapsed_ms: 1 },
]
const asked = (id: string): Line => ['inbox.input_required', { tool_call_id: id, questions: [] }]
const responded = (id: string): Line => ['ask_user_question.response', { tool_call_id: id, responses: [] }]
const complete: Line = ['session.complete', { reason: 'completed' }]
const stopped: Line = ['session.stopped', { reason: 'user' }]
const failed: Line = ['session.fail', { reason: 'r' }]
const resumed: Line = ['session.resume', {}]

const { commands, waiting_commands } = commandCapabilities(NO_SKILLS, null)
const settings = {
  setup: setUpAgent(Config.parse({ models: { default: 'demo/m' } }), { agent: 'assistant', config: {} }),
  clock: { now: () => 0 },
} as AskSettings
const table = bindAsks([commands, goalGrading, waiting_commands, goalContinuation], settings)

/** The step, with its calls by id. A capability step reads as `do: <its name>` and what is due. */
function after(lines: readonly Line[], limits = { max_iterations: 10, can_escalate: false }) {
  const events = lines.map(
    ([type, data = {}], index) =>
      ({
        id: index + 1,
        session_id: 's',
        type,
        created_at: '2026-01-01T00:00:00Z',
        data,
      }) as unknown as SessionEvent,
  )
  const step = nextStep(events.reduce(foldPosition, startPosition), limits, table)
  if (step.do === 'capability') return { do: step.name, ...(step.due as object) }
  return 'calls' in step ? { ...step, calls: step.calls.map(call => call.tool_call_id) } : step
}
const plain = { do: 'request', with_tools: true, reminders: [] }

test('a message requests a model call, and an empty or finished session rests', () => {
  expect(after([])).toEqual({ do: 'rest' })
  expect(after([message])).toEqual(plain)
  expect(after([message, request(0), answer(0, 'hi'), complete])).toEqual({ do: 'rest' })
  expect(after([message, request(0), answer(0, 'hi')])).toEqual({ do: 'finish', reason: 'completed' })
})

test('an interrupted model call is repeated under the same index', () => {
  expect(after([message, request(0)])).toEqual(plain)
})

test('a message that arrives during the last answer is answered before the turn ends', () => {
  expect(after([message, request(0), message, answer(0, 'hi')])).toEqual(plain)
  expect(after([message, request(0), answer(0, 'hi'), message])).toEqual(plain)
})

test('runs calls without a result, and only closes those of an ended turn', () => {
  const open = [message, request(0), answer(0, '', ['a', 'b']), called('a')]
  expect(after(open)).toEqual({ do: 'run', calls: ['a', 'b'] })
  expect(after([...open, result('a')])).toEqual({ do: 'run', calls: ['b'] })
  expect(after([...open, stopped])).toEqual({ do: 'rest' })
  expect(after([...open, stopped, message])).toEqual({ do: 'leave', calls: ['a', 'b'] })
  expect(after([...open, failed, resumed])).toEqual({ do: 'leave', calls: ['a', 'b'] })
  expect(after([...open, ['session.pause'], resumed])).toEqual({ do: 'run', calls: ['a', 'b'] })
})

test('a question waits until a message of a person closes it, and a message of the server does not', () => {
  const waiting = [message, request(0), answer(0, '', ['q']), called('q'), asked('q')]
  expect(after(waiting)).toEqual({ do: 'wait' })
  expect(after([...waiting, ['user.message', { content: 'x', synthetic: 'governance_decision' }]])).toEqual({
    do: 'wait',
  })
  expect(after([...waiting, message])).toEqual({ do: 'unask', calls: ['q'] })
  expect(after([message, request(0), answer(0, '', ['q']), called('q'), message, asked('q')])).toEqual({
    do: 'wait',
  })
})

test('a stop ends a question, and the next work of any kind closes its call', () => {
  const waiting = [message, request(0), answer(0, '', ['q']), called('q'), asked('q'), stopped]
  const closed = { do: 'leave', calls: ['q'] }
  expect(after(waiting)).toEqual({ do: 'rest' })
  expect(after([...waiting, message])).toEqual(closed)
  expect(after([...waiting, ['user.message', { content: 'x', synthetic: 'governance_decision' }]])).toEqual(
    closed,
  )
})

test('in a log of an older release, the answer to a stopped question starts a turn', () => {
  const waiting = [message, request(0), answer(0, '', ['q']), called('q'), asked('q'), stopped]
  expect(after([...waiting, responded('q')])).toEqual({ do: 'conclude', calls: ['q'] })
  expect(after([...waiting, responded('q'), result('q')])).toEqual(plain)
})

test('an answered question gets its result before anything else, separately from other questions', () => {
  const both: Line[] = [message, request(0), answer(0, '', ['p', 'q']), called('p'), asked('p')]
  both.push(called('q'), asked('q'), responded('q'))
  expect(after(both)).toEqual({ do: 'conclude', calls: ['q'] })
  expect(after([...both, ['user.message', { content: '/clear' }]])).toEqual({ do: 'conclude', calls: ['q'] })
  expect(after([...both, result('q')])).toEqual({ do: 'wait' })
  expect(after([...both, result('q'), responded('p')])).toEqual({ do: 'conclude', calls: ['p'] })
  expect(after([...both, result('q'), responded('p'), result('p')])).toEqual(plain)
  // Older releases called the model without it.
  const old = [...both, result('p'), request(1)]
  expect(after(old)).toEqual(plain)
  expect(after([...old, answer(1, 'then so')])).toEqual({ do: 'finish', reason: 'completed' })
  // Answered just before a stop: the result is recorded, and no new work starts.
  expect(after([...both, stopped])).toEqual({ do: 'conclude', calls: ['q'] })
  expect(after([...both, stopped, result('q')])).toEqual({ do: 'rest' })
})

test('a stopped turn requests no more work, even after a pause and resume', () => {
  expect(after([message, request(0), stopped])).toEqual({ do: 'rest' })
  expect(after([message, stopped, ['session.pause'], resumed])).toEqual({ do: 'rest' })
})

test('a failed turn is retried from where it failed', () => {
  expect(after([message, request(0), failed, resumed])).toEqual(plain)
})

test('empty answers get two reminders, a stronger model and one more try', () => {
  const empties = (count: number): Line[] => [
    message,
    ...Array.from({ length: count }, (_, i) => [request(i), answer(i, '')]).flat(),
  ]
  const reminder = { ...plain, reminders: ['empty'] }
  const able = { max_iterations: 10, can_escalate: true }
  expect([1, 2].map(count => after(empties(count), able))).toEqual([reminder, reminder])
  expect(after(empties(3), able)).toEqual({ do: 'escalate' })
  expect(after(empties(3))).toEqual({ do: 'give_up' })
  const escalated: Line[] = [...empties(3), ['session.model_escalated', { reason: 'r', model: 'big' }]]
  expect(after(escalated, able)).toEqual(reminder)
  expect(after([...escalated, request(3), answer(3, '')], able)).toEqual({ do: 'give_up' })
  expect(after([...empties(2), message])).toEqual(reminder)
})

test.each([
  ['line feeds and spaces', '\n \n'],
  ['a no-break space', '\u00a0'],
  ['zero-width characters', '\u200b\u2060\ufeff'],
  ['a control character', '\r\n\u0000'],
])('an answer of %s counts as empty, and the turn fails at the third', (_name, blank) => {
  const blanks = (count: number): Line[] => [
    message,
    ...Array.from({ length: count }, (_, i) => [request(i), answer(i, blank)]).flat(),
  ]
  expect(after(blanks(1))).toEqual({ ...plain, reminders: ['empty'] })
  expect(after(blanks(3))).toEqual({ do: 'give_up' })
  expect(after([message, request(0), answer(0, `${blank}.`)])).toEqual({ do: 'finish', reason: 'completed' })
})

test('the last call of the budget has no tools, and its answer ends the turn', () => {
  const limits = { max_iterations: 2, can_escalate: false }
  const first = [message, request(0), answer(0, '', ['a']), called('a'), result('a')]
  expect(after(first, limits)).toEqual({ do: 'request', with_tools: false, reminders: ['last_call'] })
  expect(after([...first, request(1, { tools_disabled: true }), answer(1, 'so far')], limits)).toEqual({
    do: 'finish',
    reason: 'budget_exhausted',
  })
})

test('no reminder, continuation or stronger model follows the last call of the budget', () => {
  const used = [message, request(0), answer(0, '', ['a']), called('a'), result('a')]
  const over = { do: 'finish', reason: 'budget_exhausted' }
  for (const can_escalate of [true, false]) {
    const limits = { max_iterations: 2, can_escalate }
    expect(after([...used, request(1, { tools_disabled: true }), answer(1, '')], limits)).toEqual(over)
    expect(
      after([...used, request(1, { tools_disabled: true }), answer(1, 'so f', [], 'length')], limits),
    ).toEqual(over)
    expect(after([message, request(0), answer(0, '')], { ...limits, max_iterations: 1 })).toEqual(over)
  }
})

test('a turn without tools completes normally unless its budget is used up', () => {
  const asked: Line[] = [message, request(0, { tools_disabled: true }), answer(0, 'hi')]
  expect(after(asked)).toEqual({ do: 'finish', reason: 'completed' })
})

const cut = (count: number): Line[] => [
  message,
  ...Array.from({ length: count }, (_, i) => [request(i), answer(i, 'part', [], 'length')]).flat(),
]

test('an answer cut at its length is continued a limited number of times', () => {
  expect(after(cut(1))).toEqual({ ...plain, reminders: ['continue'] })
  expect(after(cut(CONTINUATIONS + 1))).toEqual({ do: 'finish', reason: 'completed' })
})

test('repeated equal calls with equal results end the turn as a loop, unless a person writes', () => {
  const rounds = (count: number, content = 'r'): Line[] => [
    message,
    ...Array.from({ length: count }, (_, i) => [
      request(i),
      answer(i, '', [`c${i}`]),
      called(`c${i}`),
      result(`c${i}`, content),
    ]).flat(),
  ]
  expect(after(rounds(LOOP_LENGTH - 1))).toEqual(plain)
  expect(after(rounds(LOOP_LENGTH))).toEqual({ do: 'finish', reason: 'tool_loop' })
  expect(after([...rounds(LOOP_LENGTH), message])).toEqual(plain)
})

const command = (content: string): Line => ['user.message', { content }]
const replied = (command_event_id: number): Line => [
  'llm.response',
  { message: { role: 'assistant', content: 'r' }, finish_reason: 'command', command_event_id },
]
const goal: Line = [
  'outcome.defined',
  { outcome_id: 'o', description: 'd', rubric: { type: 'text', content: 'r' }, max_iterations: 3 },
]
const began = (response_event_id: number): Line => [
  'span.outcome_evaluation_start',
  { outcome_id: 'o', iteration: 0, response_event_id },
]
const judged = (result: string): Line => [
  'span.outcome_evaluation_end',
  {
    outcome_id: 'o',
    outcome_evaluation_start_id: 5,
    iteration: 1,
    result,
    explanation: 'e',
    feedback: 'f',
    parse_failed: false,
  },
]

test('runs a command once, and a session with no other message rests after it', () => {
  expect(after([command('/help')])).toMatchObject({
    do: 'commands',
    command: { command: 'help' },
    message: { event_id: 1 },
  })
  expect(after([command('/help'), replied(1)])).toEqual({ do: 'finish', reason: 'completed' })
  expect(after([command('/help'), replied(1), complete])).toEqual({ do: 'rest' })
  expect(after([command('/help'), message, replied(1)])).toEqual(plain)
  expect(after([command('/etc/hosts')])).toEqual(plain)
})

test('runs a command in a turn before the next model call, and /clear after the last', () => {
  const open = [message, request(0), answer(0, '', ['a'])]
  expect(after([...open, command('/goal status')])).toMatchObject({ do: 'commands' })
  expect(after([...open, command('/clear')])).toMatchObject({ do: 'run' })
  expect(after([message, request(0), command('/clear'), answer(0, 'hi')])).toMatchObject({
    do: 'waiting_commands',
    command: { command: 'clear' },
    through: 4,
  })
})

test('calls that a stop left open stay open when only a command follows', () => {
  const open = [message, request(0), answer(0, '', ['a']), called('a')]
  expect(after([...open, stopped, command('/help'), replied(6)])).toEqual({ do: 'rest' })
  expect(after([...open, asked('a'), stopped, command('/help'), replied(7)])).toEqual({ do: 'rest' })
  expect(after([...open, stopped, command('/help'), replied(6), message])).toEqual({
    do: 'leave',
    calls: ['a'],
  })
})

test('an active goal grades the end of a turn once, and the verdict continues or ends the turn', () => {
  const turn = [goal, message, request(0), answer(0, 'done')]
  expect(after(turn)).toEqual({ do: 'goal_grading', response_id: 4, overspent: null })
  expect(after([...turn, began(4)])).toEqual({ do: 'goal_grading', response_id: 4, overspent: null })
  expect(after([...turn, began(4), judged('needs_revision')])).toEqual({
    do: 'goal_continuation',
    verdict_id: 6,
  })
  expect(after([...turn, began(4), judged('satisfied')])).toEqual({ do: 'finish', reason: 'completed' })
  expect(after([...turn, began(4), judged('needs_revision'), message])).toEqual(plain)
  expect(
    after([...turn, began(4), judged('needs_revision'), ['outcome.paused', { outcome_id: 'o' }]]),
  ).toEqual({ do: 'finish', reason: 'completed' })
  expect(after([...turn, ['outcome.paused', { outcome_id: 'o' }]])).toEqual({
    do: 'finish',
    reason: 'completed',
  })
})

test('a failed turn is graded only after its retry has completed it', () => {
  expect(after([goal, message, request(0), failed, resumed])).toEqual(plain)
  expect(after([goal, message, request(0), answer(0, 'done'), began(4), failed, resumed])).toEqual({
    do: 'goal_grading',
    response_id: 4,
    overspent: null,
  })
})
