/** Each rule about the logs of a session tree, broken once: cascades, usage, rights, and open waits. */
import { AgentConfig } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { log, type Written } from '../../test/tree-log.ts'
import { checkTree, type TreeOptions } from './check-tree.ts'

const at = (time: string, [type, data]: Written): Written => [type, { ...data, at: `T${time}` }]
const spawn = (worker_id: string, more: Record<string, unknown> = {}): Written => [
  'worker.spawned',
  { worker_id, depth: 1, agent: 'helper', kind: 'worker', ...more },
]
const call = (tool_call_id: string, name = 'note', given: Record<string, unknown> = {}): Written => [
  'tool.call',
  { tool_call_id, name, arguments: given },
]
const result = (tool_call_id: string, name = 'note', elapsed_ms = 5): Written => [
  'tool.result',
  { tool_call_id, name, content: '{}', elapsed_ms },
]
const outcome = (worker_id: string, more: Record<string, unknown> = {}): Written => [
  'worker.failed',
  { worker_id, cause: 'parent', ...more },
]
const pause = (reason = 'paused by user'): Written => ['session.pause', { reason }]
const resume: Written = ['session.resume', { source: 'user' }]
const stop = (reason = 'parent'): Written => ['session.stopped', { reason }]
const end: Written = ['session.complete', { reason: 'stopped' }]
const used = (input_tokens: number): Written => [
  'llm.response',
  { turn_id: 't', input_tokens, output_tokens: 1, cost_usd: 0.1 },
]

type Family = Record<string, Written[]>
const judge = (family: Family, options: TreeOptions = {}): string =>
  checkTree(new Map(Object.entries(family).map(([id, events]) => [id, log(...events)])), options).join('\n')

const below = [at('1', spawn('child'))]
const stoppedAt5 = [at('5', outcome('child')), at('5', stop('user'))]
const missionPaused: Written = ['mission.paused', { mission_id: 'm' }]
const told = { input_tokens: 12, output_tokens: 3, cost_usd: 0.3 }

test('a tree that was paused, resumed and stopped together is sound', () => {
  const root = [...below, at('2', pause()), at('4', resume), ...stoppedAt5]
  const child = [
    at('2', call('a')),
    at('2', pause('parent_paused')),
    at('4', resume),
    at('4', call('b')),
    at('5', stop()),
    at('5', end),
  ]
  expect(judge({ root, child })).toBe('')
})

test('a message to the coordinator of a paused mission may start workers', () => {
  const root = [
    ...below,
    at('2', missionPaused),
    at('3', spawn('late')),
    at('4', end),
    at('5', ['mission.cancelled', { mission_id: 'm', cascade_to_workers: false }]),
  ]
  const child = [at('2', pause('parent_paused')), at('5', resume), at('6', call('a'))]
  expect(judge({ root, child, late: [at('3', call('b'))] })).toBe('')
})

test.each<[string, Family]>([
  [
    'child: it is running while root is paused, since event 2',
    { root: [...below, at('2', pause())], child: [] },
  ],
  [
    'child: event 2 (session.resume) while root is paused',
    { root: [...below, at('2', pause())], child: [at('2', pause('parent_paused')), at('3', resume)] },
  ],
  [
    'child: event 2 (tool.call) while root is paused',
    {
      root: [...below, at('2', pause()), at('4', resume)],
      child: [at('2', pause('parent_paused')), at('3', call('a')), at('4', resume)],
    },
  ],
  [
    'late: event 1 (tool.call) while root is paused',
    { root: [at('2', pause()), at('3', spawn('late'))], late: [at('4', call('a'))] },
  ],
  [
    'child: event 2 (session.resume) while root is paused',
    {
      root: [...below, at('2', missionPaused), at('3', pause()), at('4', resume)],
      child: [at('2', pause('parent_paused')), at('4', resume)],
    },
  ],
  [
    'child: it is open after session.stopped of root, 2',
    { root: [...below, at('5', stop('user'))], child: [at('6', call('a'))] },
  ],
  [
    'leaf: it is open after session.complete of child, 2',
    {
      root: [...below, at('5', outcome('child'))],
      child: [at('2', spawn('leaf', { depth: 2 })), at('5', end)],
      leaf: [],
    },
  ],
  [
    'child: event 3 (tool.call) after root was archived',
    {
      root: [...below, at('5', outcome('child')), at('5', stop('archived'))],
      child: [at('5', stop('archived')), at('5', end), at('6', call('a'))],
    },
  ],
])('reports for cascades: %s', (what, family) => {
  expect(judge(family)).toContain(what)
})

test('an outcome contains the usage of its child and the subtree, up to its end', () => {
  const child = [used(5), spawn('leaf', { depth: 2 }), outcome('leaf', { ...told, input_tokens: 7 }), end]
  const leaf = [used(3), used(4), used(0), end]
  const family = (more: Record<string, unknown>): Family => ({
    root: [spawn('child'), outcome('child', more)],
    // Later usage belongs to the worker and its user.
    child: [...child, used(100)],
    leaf,
  })
  expect(judge(family({ input_tokens: 12, output_tokens: 4, cost_usd: 0.4 }))).toBe('')
  expect(judge(family({ input_tokens: 5, output_tokens: 4, cost_usd: 0.4 }))).toBe(
    'child: its outcome says 5 input_tokens, its log 12',
  )
  expect(judge(family({ input_tokens: 12, output_tokens: 4 }))).toBe(
    'child: its outcome says 0 cost_usd, its log 0.4',
  )
})

const agents = {
  assistant: AgentConfig.parse({
    governance: {
      denied_tools: ['put*'],
      require_approval: ['guarded'],
      egress: { default: 'deny', allow: ['*.example.org'] },
    },
    workers: { may_ask: false },
  }),
  helper: AgentConfig.parse({ tools: ['note', 'put', 'guarded', 'web_fetch', 'ask_user_question'] }),
}
const rights = { agent: 'assistant', agents }
const worked = (...child: Written[]): Family => ({
  root: [
    call('s', 'spawn_worker', { tools: ['note', 'put', 'guarded', 'web_fetch'] }),
    spawn('child', { tool_call_id: 's' }),
  ],
  child,
})

test('a worker within the rights of its ancestors is sound, and a tool that did not run is no violation', () => {
  const page = call('w', 'web_fetch', { url: 'https://www.example.org/a' })
  expect(
    judge(
      worked(
        call('n'),
        result('n'),
        call('p', 'put'),
        result('p', 'put', 0),
        page,
        result('w', 'web_fetch'),
        ['policy.allowed', { tool_name: 'guarded', reason: 'human approval', tool_call_id: 'g' }],
        call('g', 'guarded'),
        result('g', 'guarded'),
        call('c', 'worker_complete'),
        result('c', 'worker_complete'),
      ),
      { rights },
    ),
  ).toBe('')
})

test.each<[string, Written[]]>([
  ['child: event 2: put ran, and assistant forbids it', [call('p', 'put'), result('p', 'put')]],
  ['guarded ran, and assistant needs an approval for it', [call('g', 'guarded'), result('g', 'guarded')]],
  ['look ran, and it is not among the tools of helper', [call('l', 'look'), result('l', 'look')]],
  [
    'ask_user_question ran, and the workers of assistant may not ask',
    [call('q', 'ask_user_question'), result('q', 'ask_user_question')],
  ],
  [
    'web_fetch ran, and assistant may not reach https://example.net/',
    [call('w', 'web_fetch', { url: 'https://example.net/' }), result('w', 'web_fetch')],
  ],
])('reports for rights: %s', (what, child) => {
  expect(judge(worked(...child), { rights })).toContain(what)
  expect(judge(worked(...child))).toBe('')
})

const asks: Written = ['inbox.input_required', { tool_call_id: 'q', questions: [] }]
const blocked: Written = [
  'task.blocked',
  { task_id: 'task', worker_id: 'child', reason: 'why', block_call_id: 'b' },
]
const askedAbout: Written = [
  'inbox.action_required',
  { action_type: 'task_blocked', target: 'task', title: 't' },
]
const delegation = [call('d', 'delegate_task'), spawn('child', { tool_call_id: 'd' })]
const task = spawn('child', { task_id: 'task', attempt: 1 })

test.each<[string, Family]>([
  ['a person is asked', { root: [spawn('child')], child: [call('q', 'ask_user_question'), asks] }],
  ['it is paused', { root: [spawn('child')], child: [pause()] }],
  ['its own worker is asked', { root: delegation, child: [spawn('leaf', { depth: 2 })], leaf: [pause()] }],
  [
    'a person is asked about its block',
    { root: [task, blocked, askedAbout], child: [call('b', 'worker_block')] },
  ],
])('a person can resolve the wait: %s', (_, family) => {
  expect(judge(family, { settled: true })).toBe('')
})

test.each<[string, Family]>([
  [
    'child: it has not ended, but waits for no person',
    { root: [spawn('child')], child: [call('n'), result('n')] },
  ],
  [
    'child: it has not ended, but waits for no person',
    {
      root: [spawn('child')],
      child: [call('q', 'ask_user_question'), asks, ['ask_user_question.response', { tool_call_id: 'q' }]],
    },
  ],
  [
    'child: it is still paused, but its parent has resumed',
    { root: [spawn('child')], child: [pause('parent_paused')] },
  ],
  [
    'root: delegate_task d waits for workers, but none is open',
    { root: [...delegation, outcome('child')], child: [end] },
  ],
  [
    'root: wait_for_workers w waits for workers, but none is open',
    {
      root: [spawn('child'), call('w', 'wait_for_workers', { ids: ['child'] }), outcome('child')],
      child: [end],
    },
  ],
  [
    'child: worker_block b waits for an answer, but its parent was not notified',
    { root: [task], child: [call('b', 'worker_block')] },
  ],
  [
    'child: its task task is blocked, but no person was asked',
    { root: [task, askedAbout, blocked], child: [call('b', 'worker_block')] },
  ],
])('reports for waits: %s', (what, family) => {
  expect(judge(family, { settled: true })).toContain(what)
  // While a worker may be active this is no violation.
  expect(judge(family)).not.toContain(what)
})
