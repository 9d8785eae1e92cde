/** The readers of transcripts: nothing is lost, and the order is what model servers accept. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ImportedMessage } from '@cairn/protocol'
import { callOf, createRecorded, NO_RESULT } from './conversation.ts'
import { createPacker } from './parts.ts'
import { formatOf, type ImportFormat, readerOf } from './reader.ts'

function read(format: ImportFormat, records: readonly unknown[]) {
  const notes: Record<string, number> = {}
  const reader = readerOf(format, what => void (notes[what] = (notes[what] ?? 0) + 1))
  for (const record of records) reader.record(record)
  const conversations = [...reader.conversations()].map(one => ({
    source: one.source,
    messages: one.end().flat(),
  }))
  expect(records[0] === undefined ? format : formatOf(records[0])).toBe(format)
  return { conversations, notes }
}

const tool = (tool_call_id: string, content: string): ImportedMessage => ({
  role: 'tool',
  tool_call_id,
  content,
})
const user = (content: string): ImportedMessage => ({ role: 'user', content })
const answer = (content: string, ...calls: [id: string, name: string, args: string][]): ImportedMessage => ({
  role: 'assistant',
  content,
  ...(calls.length > 0 && { tool_calls: calls.map(([id, name, args]) => callOf(id, name, args)) }),
})

test('a transcript of Claude Code: blocks of an answer, results, a subagent, unknown records', () => {
  const at = { sessionId: 'S', version: '2.1.0' }
  const said = (content: unknown, more = {}) => ({
    type: 'user',
    ...at,
    ...more,
    message: { role: 'user', content },
  })
  const block = (id: string, part: object, more = {}) => ({
    type: 'assistant',
    ...at,
    ...more,
    message: { id, role: 'assistant', content: [part] },
  })
  const use = (id: string) => ({ type: 'tool_use', id, name: 'Bash', input: { command: id } })
  const { conversations, notes } = read('claude-code', [
    { type: 'queue-operation', ...at },
    said('Look.'),
    block('m1', { type: 'thinking', thinking: 'hm' }),
    block('m1', { type: 'text', text: 'I look.' }),
    block('m1', use('t1')),
    said([{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'one' }] }]),
    // The second call of the same answer, written after the result of the first.
    block('m1', use('t2')),
    said('Sub.', { isSidechain: true, agentId: 'a1' }),
    block('s1', { type: 'text', text: 'Sub done.' }, { isSidechain: true, agentId: 'a1' }),
    said([
      { type: 'tool_result', tool_use_id: 't2', content: 'two' },
      { type: 'image', source: {} },
    ]),
    block('m2', { type: 'text', text: 'Both.' }),
    { type: 'summary', summary: 'A look', leafUuid: 'x' },
    { type: 'something-new', ...at },
  ])
  expect(conversations).toEqual([
    {
      source: { id: 'S', tool_version: '2.1.0', title: 'A look' },
      messages: [
        user('Look.'),
        answer('I look.', ['t1', 'Bash', '{"command":"t1"}']),
        tool('t1', 'one'),
        answer('', ['t2', 'Bash', '{"command":"t2"}']),
        tool('t2', 'two'),
        user('[Left out by the import: image]'),
        answer('Both.'),
      ],
    },
    {
      source: { id: 'S/a1', tool_version: '2.1.0', parent: 'S' },
      messages: [user('Sub.'), answer('Sub done.')],
    },
  ])
  expect(notes).toEqual({
    reasoning: 1,
    image: 1,
    'record queue-operation': 1,
    'record something-new': 1,
  })
})

test('a rollout of Codex: items of the model, not what is shown of them', () => {
  const item = (payload: object) => ({ type: 'response_item', payload })
  const { conversations } = read('codex', [
    { type: 'session_meta', payload: { id: 'R', cli_version: '0.1' } },
    item({ type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Rules.' }] }),
    item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go.' }] }),
    { type: 'event_msg', payload: { type: 'user_message', message: 'Go.' } },
    item({ type: 'reasoning', summary: [] }),
    item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I go.' }] }),
    item({ type: 'function_call', name: 'shell', arguments: '{"a":1}', call_id: 'c1' }),
    item({ type: 'custom_tool_call', name: 'apply_patch', input: '*** patch', call_id: 'c2' }),
    item({ type: 'function_call_output', call_id: 'c1', output: 'one' }),
    item({ type: 'custom_tool_call_output', call_id: 'c2', output: 'two' }),
    item({ type: 'web_search_call', id: 'w1', action: { query: 'q' } }),
    { type: 'compacted', payload: { message: 'Short.' } },
    item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] }),
  ])
  expect(conversations[0]?.messages).toEqual([
    user('[developer]\nRules.'),
    user('Go.'),
    answer('I go.', ['c1', 'shell', '{"a":1}'], ['c2', 'apply_patch', '{"input":"*** patch"}']),
    tool('c1', 'one'),
    tool('c2', 'two'),
    answer('', ['w1', 'web_search_call', '{"action":{"query":"q"}}']),
    tool('w1', ''),
    user('[Compacted]\nShort.'),
    answer('Done.'),
  ])
})

test('an export of opencode: the steps of an answer are answers of their own', () => {
  const part = (id: string, output: string) => ({
    type: 'tool',
    tool: 'bash',
    callID: id,
    state: { status: 'completed', input: { command: id }, output },
  })
  const { conversations } = read('opencode', [
    {
      info: { id: 'ses_1', title: 'T', version: '1.0' },
      messages: [
        { info: { id: 'u', role: 'user' }, parts: [{ type: 'text', text: 'Go.' }] },
        {
          info: { id: 'a', role: 'assistant' },
          parts: [
            { type: 'step-start' },
            { type: 'text', text: 'I go.' },
            part('c1', 'one'),
            part('c2', 'two'),
            { type: 'step-finish' },
            { type: 'step-start' },
            { ...part('c3', ''), state: { status: 'error', input: {}, error: 'no' } },
            { type: 'step-finish' },
            { type: 'step-start' },
            { type: 'text', text: 'Done.' },
          ],
        },
      ],
    },
  ])
  expect(conversations[0]).toEqual({
    source: { id: 'ses_1', title: 'T', tool_version: '1.0' },
    messages: [
      user('Go.'),
      answer('I go.', ['c1', 'bash', '{"command":"c1"}'], ['c2', 'bash', '{"command":"c2"}']),
      tool('c1', 'one'),
      tool('c2', 'two'),
      answer('', ['c3', 'bash', '{}']),
      tool('c3', '{"error":"no"}'),
      answer('Done.'),
    ],
  })
})

test("lists of messages: OpenAI's, Anthropic's, and items of Responses", () => {
  const chat = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi.' }] },
    { role: 'assistant', content: null, tool_calls: [callOf('c1', 'f', '{}')] },
    { role: 'tool', tool_call_id: 'c1', content: 'one' },
    { role: 'assistant', content: 'Done.' },
  ]
  const anthropic = {
    system: 'Be brief.',
    messages: [
      { role: 'user', content: 'Hi.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'one' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
    ],
  }
  const items = {
    id: 'conv_1',
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: 'Hi.' },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'one' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] },
    ],
  }
  const messages = [user('Hi.'), answer('', ['c1', 'f', '{}']), tool('c1', 'one'), answer('Done.')]
  const read3 = [chat, anthropic, items].map(record => read('messages', [record]).conversations[0])
  for (const conversation of read3)
    expect(conversation).toMatchObject({ source: { system: 'Be brief.' }, messages })
  expect(read3[2]?.source.id).toBe('conv_1')
  expect(read3[0]?.source.id).toMatch(/^[0-9a-f]{64}$/)
})

test('a trajectory in ATIF, with one of a subagent', () => {
  const { conversations } = read('atif', [
    {
      schema_version: 'ATIF-v1.8',
      session_id: 'A',
      agent: { name: 'x', version: '1' },
      steps: [
        { step_id: 1, source: 'user', message: 'Go.' },
        {
          step_id: 2,
          source: 'agent',
          message: 'I go.',
          tool_calls: [{ tool_call_id: 'c1', function_name: 'f', arguments: { a: 1 } }],
          observation: { results: [{ source_call_id: 'c1', content: 'one' }] },
        },
        { step_id: 3, source: 'system', message: 'Stop.' },
      ],
      subagent_trajectories: [
        { trajectory_id: 'B', agent: {}, steps: [{ step_id: 1, source: 'user', message: 'Sub.' }] },
      ],
    },
  ])
  expect(conversations.map(({ messages }) => messages)).toEqual([
    [user('Go.'), answer('I go.', ['c1', 'f', '{"a":1}']), tool('c1', 'one'), user('[system]\nStop.')],
    [user('Sub.')],
  ])
  expect(conversations[1]?.source).toMatchObject({ id: 'B', parent: 'A' })
})

test('a call without a result gets one, and a late result is kept as text', () => {
  const notes: string[] = []
  const recorded = createRecorded({ id: 'x' }, what => void notes.push(what))
  recorded.answer('1', { calls: [callOf('c1', 'f', {})] })
  recorded.answer('2', { text: 'On.' })
  recorded.result('c1', 'late')
  expect(recorded.end().flat()).toEqual([
    answer('', ['c1', 'f', '{}']),
    tool('c1', NO_RESULT),
    answer('On.'),
    user('[Result of call c1]\nlate'),
  ])
  expect(notes).toEqual(['call without a result', 'late result'])
})

type Step = { user: string } | { key: string; text: string; call: string | null } | { result: string }
const calls = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ user: fc.constantFrom('u1', 'u2') }),
  fc.record({
    key: fc.constantFrom('k1', 'k2', 'k3'),
    text: fc.constantFrom('', 't'),
    call: fc.option(calls),
  }),
  fc.record({ result: calls }),
)

test('whatever the order of the records, every call, result and text is there, and every group is settled', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 40 }), fc.nat({ max: 40 }), (steps, taken) => {
      const recorded = createRecorded({ id: 'x' }, () => {})
      const groups: ImportedMessage[][] = []
      const expected = { calls: new Set<string>(), results: 0, users: 0, texts: 0 }
      steps.forEach((step, at) => {
        if ('user' in step) {
          recorded.user(step.user)
          expected.users += 1
        } else if ('result' in step) {
          recorded.result(step.result, 'r')
          expected.results += 1
        } else {
          recorded.answer(step.key, { text: step.text, calls: step.call ? [callOf(step.call, 'f', {})] : [] })
          if (step.call) expected.calls.add(step.call)
          if (step.text !== '') expected.texts += 1
        }
        if (at === taken) groups.push(...recorded.take())
      })
      groups.push(...recorded.end())
      const all = groups.flat()
      const text = all.map(({ content }) => content).join('\n')
      const made = all.flatMap(message => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
      expect(new Set(made.map(({ id }) => id))).toEqual(expected.calls)
      expect(made).toHaveLength(expected.calls.size)
      const given = all.filter(({ role, content }) => role === 'tool' && content !== NO_RESULT).length
      expect(given + text.split('[Result of call').length - 1).toBe(expected.results)
      expect(all.filter(({ content }) => /^u\d$/.test(content))).toHaveLength(expected.users)
      expect(
        all.flatMap(one => (one.role === 'assistant' ? (one.content.match(/t/g) ?? []) : [])),
      ).toHaveLength(expected.texts)
      for (const group of groups) {
        const [first, ...rest] = group
        const ids = first?.role === 'assistant' ? (first.tool_calls ?? []).map(({ id }) => id) : []
        const answered = rest.map(one => (one.role === 'tool' ? one.tool_call_id : one.role))
        expect(answered.toSorted()).toEqual(ids.toSorted())
      }
    }),
  )
})

test('parts keep groups together, and a group that no request can hold is cut and reported', () => {
  let cuts = 0
  const packer = createPacker(() => void (cuts += 1))
  const small = [answer('x'.repeat(100_000), ['c', 'f', '{}']), tool('c', 'y'.repeat(100_000))]
  expect(packer.add(small)).toBeNull()
  expect(packer.add(small)).toHaveLength(2)
  expect(packer.add([user('z'.repeat(6_000_000))])).toHaveLength(2)
  const [cut] = packer.rest()
  expect(cuts).toBe(1)
  expect(Buffer.byteLength(JSON.stringify(cut))).toBeLessThan(4_000_000)
  expect(cut?.content).toMatch(/\[\d+ characters left out by the import\]$/)
})
