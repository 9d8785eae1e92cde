import type { ChatItem } from '@cairn/state'
import { expect, test } from 'vitest'
import { rowsOf, statedVerdicts } from './rows.ts'

let next = 0
const base = () => ({ event_id: (next += 1), created_at: '2026-11-29T00:00:00Z' })
const call = (name: string, args: Record<string, unknown> = {}, content: string | null = '{}'): ChatItem => ({
  kind: 'tool',
  ...base(),
  tool_call_id: `call-${(next += 1)}`,
  name,
  arguments: args,
  status: 'done',
  content,
  elapsed_ms: 2,
})
const answer = (content: string): ChatItem => ({
  kind: 'answer',
  ...base(),
  turn_id: 't',
  iteration: next,
  content,
  reasoning: '',
  streaming: false,
  model: null,
  input_tokens: 0,
  output_tokens: 0,
  cost_usd: null,
  finish_reason: 'tool_calls',
  rating: null,
})
const worker = (goal: string): ChatItem => ({
  kind: 'worker',
  ...base(),
  worker_id: goal,
  goal,
  agent: 'assistant',
  role: 'worker',
  timeout_seconds: null,
  status: 'open',
  idle_seconds: null,
  outcome: null,
})
const shape = (items: ChatItem[], asking: string[] = []) =>
  rowsOf(items, 0, new Set(asking)).map(row =>
    row.kind === 'calls' ? row.group.title(row.calls.length) : row.item.kind,
  )

test('neighbouring calls of one kind are one row, also over answers without text', () => {
  const reads = Array.from({ length: 24 }, (_, n) => call('read_file', { path: `${n}.md` }))
  expect(shape(reads)).toEqual(['Read 24 files'])
  const silent = reads.slice(0, 3).flatMap(read => [read, answer('')])
  expect(shape(silent)).toEqual(['Read 3 files', 'answer', 'answer', 'answer'])
  expect(shape([call('edit_file'), call('write_file'), call('terminal')])).toEqual(['Edit 2 files', 'tool'])
  expect(shape([call('read_file'), answer('Now the next.'), call('read_file')])).toEqual([
    'tool',
    'answer',
    'tool',
  ])
  expect(shape([call('browser_navigate'), call('browser_click')])).toEqual(['Browse, 2 steps'])
  expect(shape([call('mcp__git__push'), call('mcp__git__push'), call('mcp__git__pull')])).toEqual([
    'Push, 2 calls',
    'tool',
  ])
})

test('a call is not shown beside the card or the worker that says the same', () => {
  const acting = call('request_user_action', { title: 'Log in' })
  expect(shape([acting], [(acting as { tool_call_id: string }).tool_call_id])).toEqual([])
  expect(shape([acting])).toEqual(['tool'])
  const starts = [call('spawn_worker', { goal: 'Count' }), call('spawn_worker', { goal: 'List' })]
  expect(shape([...starts, worker('Count'), worker('List')])).toEqual(['worker', 'worker'])
  expect(shape(starts)).toEqual(['tool', 'tool'])
  const delegated = call('delegate_task', { goals: [{ goal: 'Count' }, { goal: 'List' }] })
  expect(shape([delegated, worker('Count')])).toEqual(['tool', 'worker'])
})

test('the verdict that blocked a goal has no row while a card asks about it', () => {
  const verdict = { ...base(), kind: 'notice', level: 'warning', text: 'Goal blocked: no key' } as const
  const notice: ChatItem = { ...verdict, type: 'span.outcome_evaluation_end' }
  const verdicts = [{ event_id: 0 }, { event_id: notice.event_id }]
  const goal = { status: 'blocked', outcome_id: 'goal', verdicts } as const
  const card = { payload: { action_type: 'goal_blocked', target: goal.outcome_id } }
  const rows = (cards: Parameters<typeof statedVerdicts>[1]) =>
    rowsOf([notice], 0, new Set(), statedVerdicts(goal, cards)).length
  expect(rows([card])).toBe(0)
  expect(rows([])).toBe(1)
  expect(rows([{ payload: { ...card.payload, target: 'another goal' } }])).toBe(1)
  expect(statedVerdicts({ ...goal, status: 'active' }, [card])).toEqual(new Set())
  expect(statedVerdicts(null, [card])).toEqual(new Set())
})
