/** Logs for tests. */
import type { EventType, SessionEvent } from '@cairn/protocol'
import { anyLog } from '@cairn/state/test/any-log'
import fc from 'fast-check'

export type Entry = readonly [EventType, object]

/** A log from types and payloads, numbered from 1. */
export const logOf = (...entries: readonly Entry[]): SessionEvent[] =>
  entries.map(
    ([type, data], at) =>
      ({ id: at + 1, session_id: 's', type, created_at: '2026-01-01T00:00:00.000Z', data }) as SessionEvent,
  )

export const said = (content: string): Entry => ['user.message', { content }]
export const ended: Entry = ['session.complete', { reason: 'completed' }]

type Answer = { reasoning: string; content: string; shown: number; retried: boolean; differs: boolean }

/** A model call with its deltas, of which `shown` characters came before a retry. */
export function answerOf({ reasoning, content, shown, retried, differs }: Answer, at: number): Entry[] {
  const place = { turn_id: 't', iteration_index: at }
  const delta = (key: 'reasoning' | 'content', text: string): Entry[] =>
    [...text.matchAll(/.{1,3}/gs)].map(([part]) => ['llm.delta', { [key]: part, ...place }])
  const request: Entry = ['llm.request', { model: 'm', ...place }]
  const before: Entry[] = retried
    ? [
        request,
        ...delta('content', content.slice(0, shown)),
        request,
        ['llm.delta', { reset: true, ...place }],
      ]
    : [request]
  return [
    ...before,
    ...delta('reasoning', reasoning),
    ...delta('content', differs ? `?${content}` : content),
    ...(reasoning === '' ? [] : [['llm.thinking', { reasoning, ...place }] satisfies Entry]),
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
        ...place,
      },
    ],
  ]
}

const word = fc.string({ maxLength: 12 })
const rarely = fc.nat({ max: 9 }).map(n => n === 0)
const anyAnswer = fc.record({
  reasoning: word,
  content: word,
  shown: fc.nat({ max: 12 }),
  retried: rarely,
  differs: rarely,
})

/** The steps of a turn, and what people do between turns. */
const STEPS = [
  'answer',
  'call',
  'gate',
  'approve',
  'reject',
  'repeat',
  'ask',
  'reply',
  'end',
  'say',
  'plan',
] as const
const anyStep = fc.record({ step: fc.constantFrom(...STEPS), answer: anyAnswer, fails: fc.boolean() })

const MARKER = JSON.stringify({ error: 'policy_blocked_overridable', message: 'why' })
const call = (id: string, name: string, more: object = {}): Entry => [
  'tool.call',
  { tool_call_id: id, name, arguments: { command: id }, ...more },
]
const result = (id: string, name: string, content: string): Entry => [
  'tool.result',
  { tool_call_id: id, name, content, elapsed_ms: 1 },
]
const decision = (id: string, made: 'approve' | 'reject'): Entry => [
  'user.message',
  { content: '[Decision]', synthetic: 'governance_decision', tool_call_id: id, metadata: { decision: made } },
]

/** Logs like those of a runner: answers, calls, approvals, questions and their ends, in any order. */
export const turnLog = fc.array(anyStep, { minLength: 3, maxLength: 25 }).map(steps => {
  const entries: Entry[] = [said('begin')]
  let gated: string[] = []
  let approved: string[] = []
  let asked: string[] = []
  for (const [at, { step, answer, fails }] of steps.entries()) {
    const id = `c${at}`
    const take = (from: string[]): string => from.shift() ?? id
    if (step === 'answer' || step === 'call' || step === 'gate' || step === 'ask')
      entries.push(...answerOf(answer, at))
    if (step === 'call')
      entries.push(call(id, 'read_file'), result(id, 'read_file', fails ? '{"error":"no"}' : '{}'))
    if (step === 'gate') {
      gated.push(id)
      const gate = {
        tool_name: 'terminal',
        tool_call_id: id,
        arguments_excerpt: '',
        deny_reason: 'r',
        policy_id: 'p',
      }
      entries.push(
        call(id, 'terminal', { verdict: 'ask' }),
        ['inbox.governance_gate', gate],
        result(id, 'terminal', MARKER),
      )
    }
    if (step === 'approve') approved.push(gated[0] ?? id)
    if (step === 'approve') entries.push(decision(take(gated), 'approve'))
    if (step === 'reject') entries.push(decision(take(gated), 'reject'))
    if (step === 'repeat')
      entries.push(
        call(id, 'terminal', { approves_tool_call_id: take(approved) }),
        result(id, 'terminal', 'out'),
      )
    if (step === 'ask') {
      asked.push(id)
      entries.push(call(id, 'ask_user_question'), [
        'inbox.input_required',
        { tool_call_id: id, questions: [{ prompt: 'P' }] },
      ])
    }
    if (step === 'reply')
      entries.push(['ask_user_question.response', { tool_call_id: take(asked), responses: [] }])
    if (step === 'end') entries.push(fails ? ['session.stopped', { reason: 'r' }] : ended)
    if (step === 'say') entries.push(said(answer.content || 'x'))
    if (step === 'plan') entries.push(['todo.updated', { todos: [] }])
    if (step === 'say') [gated, approved, asked] = [[], [], []]
  }
  return logOf(...entries, ended)
})

/** Logs that begin with a message: those of a runner, and those with events in any order. */
export const begunLog = fc.oneof(
  { weight: 3, arbitrary: turnLog },
  {
    weight: 1,
    arbitrary: anyLog(60).map(events => [
      ...logOf(said('begin')),
      ...events.map(event => ({ ...event, id: event.id + 1 })),
    ]),
  },
)
