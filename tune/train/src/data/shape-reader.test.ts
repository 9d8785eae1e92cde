/** Keys of rows and messages: each is honoured, or refused by its name. */
import { ExactNumber } from '@cairn-tune/weights'
import { expect, test } from 'vitest'
import { readExamples } from './shape-reader.ts'

/** The example of a row, or the reason why it is skipped. */
function read(values: Record<string, unknown>): unknown {
  const { examples, skipped } = readExamples([{ where: 'row', values }])
  return examples[0] ?? skipped[0]?.reason
}

const user = { role: 'user', content: 'hi' }
const yes = { role: 'assistant', content: 'yes' }
const chat = (...messages: object[]) => read({ messages })
const messagesOf = (...messages: object[]) => chat(...messages) as { messages: object[] }

test.each([
  ['weight', 0, 0.0],
  ['train', false, 0],
  ['loss', false, 0],
])('a turn with %s: %s is shown and not trained, in both forms of messages', (key, value, number) => {
  expect(chat(user, { ...yes, [key]: value }, user, yes)).toMatchObject({ untrained: [1] })
  expect(chat(user, { ...yes, [key]: number }, user, yes)).toMatchObject({ untrained: [1] })
  const turns = [
    { from: 'human', value: 'hi' },
    { from: 'gpt', value: 'no', [key]: value },
    { from: 'human', value: 'hi' },
    { from: 'gpt', value: 'yes' },
  ]
  const example = read({ conversations: turns })
  expect(example).toMatchObject({ untrained: [1] })
  expect((example as { messages: object[] }).messages[1]).toEqual({ role: 'assistant', content: 'no' })
  expect(read({ conversations: turns, system: 'Be brief.' })).toMatchObject({ untrained: [2] })
})

test('a weight in a column of floats counts like one in a column of integers', () => {
  expect(chat(user, { ...yes, weight: new ExactNumber('0.0') }, user, yes)).toMatchObject({ untrained: [1] })
  expect(chat(user, { ...yes, weight: new ExactNumber('1.0') })).not.toHaveProperty('untrained')
})

test.each([
  [{ ...yes, weight: 0.5 }, 'weight: weight must be 0 or 1'],
  [{ ...yes, train: 'no' }, 'train: train must be 0 or 1, or true or false'],
  [{ ...yes, weight: 0, train: true }, 'weight and train of a message contradict each other'],
  [{ ...yes, train_detail: [{ train: false }] }, 'train_detail: parts of a turn cannot be excluded'],
  [{ ...yes, mask: true }, 'mask: has no one meaning in data files; use weight: 0'],
  [{ ...yes, images: ['a.png'] }, 'images: the model reads only text'],
  [{ ...yes, audio: { path: 'a.wav' } }, 'audio: the model reads only text'],
  [{ ...yes, name: new Uint8Array(2) }, 'name: a binary value that is not UTF-8'],
  ['yes', 'a message must be an object with role and content'],
])('refuses the message %j', (message, reason) => {
  expect(read({ messages: [user, message] })).toContain(reason)
})

test('a turn of the user that asks to be trained is refused, and a weight of 1 is not', () => {
  expect(chat({ ...user, train: true }, yes)).toContain('train: only turns of the assistant are trained')
  expect(chat({ ...user, weight: 1 }, yes)).toMatchObject({ kind: 'chat' })
})

test('names of thoughts are filled from each other, as transformers does', () => {
  for (const key of ['reasoning', 'thinking', 'reasoning_content'])
    expect(messagesOf(user, { ...yes, [key]: 'sum' }).messages[1]).toMatchObject({
      reasoning_content: 'sum',
      thinking: 'sum',
    })
  expect(messagesOf(user, { ...yes, reasoning_content: 'a', thinking: 'b' }).messages[1]).toMatchObject({
    reasoning_content: 'a',
    thinking: 'b',
  })
  expect(messagesOf(user, { ...yes, reasoning: null }).messages[1]).toEqual(yes)
})

const call = { name: 'f', arguments: '{"a":1}' }

test('calls and tools in the older form of OpenAI', () => {
  const functions = [{ name: 'f', parameters: {} }]
  expect(
    read({ messages: [user, { role: 'assistant', content: null, function_call: call }], functions }),
  ).toMatchObject({
    tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
    messages: [user, { content: '', tool_calls: [{ type: 'function', function: { arguments: { a: 1 } } }] }],
  })
  expect(messagesOf(user, yes, { role: 'function', name: 'f', content: '1' }).messages[2]).toEqual({
    role: 'tool',
    name: 'f',
    content: '1',
  })
  expect(chat(user, { ...yes, function_call: call, tool_calls: [{ function: call }] })).toBe(
    'a message has both function_call and tool_calls; keep one of them',
  )
  expect(read({ messages: [user, yes], functions, tools: functions })).toBe(
    'a row has both functions and tools; keep one of them',
  )
})

test('roles in the words of other formats, in upper or lower case', () => {
  const roleOf = (role: string) => (messagesOf({ role, content: 'a' }).messages[0] as { role: string }).role
  expect(['Assistant', 'ai', 'AI', 'gpt', 'bot', 'model'].map(roleOf)).toEqual(Array(6).fill('assistant'))
  expect(['Human', 'User', 'System', 'developer', 'observation'].map(roleOf)).toEqual([
    'user',
    'user',
    'system',
    'system',
    'tool',
  ])
  expect(roleOf('Critic')).toBe('Critic')
})

test('a key with null does not count', () => {
  expect(read({ messages: null, prompt: 'a', completion: 'b' })).toMatchObject({ kind: 'completion' })
  expect(
    messagesOf({ ...user, name: null, tool_calls: null, weight: null, images: null }, yes).messages[0],
  ).toEqual(user)
  // The first row that has a format sets it, even behind rows that have only nulls.
  const { examples, skipped } = readExamples([
    { where: 'a', values: { messages: null, text: null } },
    { where: 'b', values: { messages: null, text: 'b' } },
    { where: 'c', values: { messages: [user, yes], text: 'c' } },
  ])
  expect(examples).toEqual([
    { kind: 'text', text: 'b' },
    { kind: 'text', text: 'c' },
  ])
  expect(skipped).toEqual([{ where: 'a', reason: expect.stringContaining('text: ') }])
})

const asked = { kind: 'question', question: 'q', answer: 'a' }
const told = { kind: 'instruction', instruction: 'q', input: '', output: 'a', system: '', history: [] }

test.each<[Record<string, unknown>, object]>([
  [
    { instruction: 'q', context: 'c', response: 'a', category: 'x' },
    { ...told, input: 'c' },
  ],
  [{ instruction: 'q', response: 'a' }, told],
  [
    { instruction: 'q', input: 'c', output: 'a' },
    { ...told, input: 'c' },
  ],
  [{ prompt: 'q', response: 'a' }, asked],
  [{ question: 'q', answer: 'a' }, asked],
  [{ question: 'q', response: 'a' }, asked],
  [{ query: 'q', response: 'a' }, asked],
  [{ problem: 'q', solution: 'a', answer: '1' }, asked],
  [{ problem: 'q', answer: 'a' }, asked],
  [{ input: 'q', output: 'a' }, asked],
  [
    { system_prompt: 's', question: 'q', response: 'a' },
    { ...told, system: 's' },
  ],
  [{ question: 'q', answer: 'a', text: 'both' }, asked],
  [
    { problem: 'q', solution: 'a', text: 'both' },
    { kind: 'text', text: 'both' },
  ],
  [
    { messages: [user, yes], system: 's' },
    { kind: 'chat', tools: undefined, messages: [{ role: 'system', content: 's' }, user, yes] },
  ],
])('reads the columns of %j', (values, example) => {
  expect(read(values)).toEqual(example)
})

test.each([
  [{ problem: 'q', solution: 7 }, /^solution: .*expected string/],
  [{ question: 'q', answer: 'a', image: 'a.png' }, /^image: the model reads only text/],
  [{ messages: [user, yes], videos: [{}] }, /^videos: the model reads only text/],
  [{ messages: [user, yes], chat_template_kwargs: { enable_thinking: false } }, /^chat_template_kwargs: /],
])('names what it cannot read in %j', (values, reason) => {
  expect(read(values)).toMatch(reason)
})
